from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# How fast the machine is, and how busy, is nothing that these tests are about.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(autouse=True, scope="session")
def cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests leave the user's cache alone, and do not find anything there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEVICEFIX_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
