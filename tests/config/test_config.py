from __future__ import annotations

from pathlib import Path

import pytest

from devicefix.config import ConfigError, Configuration
from devicefix.config.schema import KEYS
from devicefix.settings import Settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)


def test_without_a_file_the_defaults_hold() -> None:
    assert Configuration().for_path("a.py") == Settings()


def test_every_key_fills_a_field(folder: Path) -> None:
    values = {
        "select": '["DVF1"]',
        "extend-select": '["DVF2"]',
        "ignore": '["DVF3"]',
        "per-file-ignores": '{ "tests/*" = ["ALL"] }',
        "exclude": '["old/"]',
        "unsafe-fixes": "true",
        "extend-safe-fixes": '["DVF101"]',
        "extend-unsafe-fixes": '["DVF102"]',
        "unfixable": '["DVF103"]',
        "torch-version": '"2.4"',
        "buffer-style": '"nn.Buffer"',
        "device-expression": '"accelerator"',
        "persistent-buffers": "true",
        "modules": '["a.B"]',
        "in-place-containers": '["a.C"]',
        "copying-containers": '["a.D"]',
        "output-format": '"concise"',
        "jobs": "3",
    }
    assert set(values) == {key.name for key in KEYS}
    put("devicefix.toml", "".join(f"{name} = {value}\n" for name, value in values.items()))
    settings = Configuration().for_path("a.py")
    defaults = Settings()
    for key in KEYS:
        assert getattr(settings, key.field) != getattr(defaults, key.field), key.name
    assert settings.torch_version == (2, 4)
    assert settings.per_file_ignores == (("tests/*", ("ALL",)),)
    assert settings.root == str(folder)


def test_the_nearest_file_wins_and_files_are_not_merged() -> None:
    put("pyproject.toml", '[tool.devicefix]\nignore = ["DVF1"]\njobs = 2\n')
    put("pkg/devicefix.toml", 'ignore = ["DVF2"]\n')
    put("pkg/sub/pyproject.toml", "[tool.black]\n")
    put("pkg/sub/a.py", "")
    put("other/a.py", "")
    configuration = Configuration()
    assert configuration.for_path("pkg/sub/a.py").ignore == ("DVF2",)
    assert configuration.for_path("pkg/sub").jobs == 0
    assert configuration.for_path("other/a.py").ignore == ("DVF1",)
    assert configuration.for_path(".").jobs == 2


def test_a_file_may_extend_another() -> None:
    put("base.toml", 'ignore = ["DVF1"]\njobs = 2\n')
    put("pkg/devicefix.toml", 'extend = "../base.toml"\njobs = 3\n')
    settings = Configuration().for_path("pkg/a.py")
    assert (settings.ignore, settings.jobs) == (("DVF1",), 3)


def test_the_command_line_is_on_top() -> None:
    put("devicefix.toml", 'select = ["DVF1"]\nignore = ["DVF2"]\nexclude = ["a"]\n')
    configuration = Configuration({"select": ("DVF3",)}, {"ignore": ("DVF4",), "exclude": ("b",)})
    settings = configuration.for_path("a.py")
    assert settings.select == ("DVF3",)
    assert settings.ignore == ("DVF2", "DVF4")
    assert settings.exclude == ("a", "b")


def test_a_named_file_holds_for_all_and_isolated_reads_none() -> None:
    put("devicefix.toml", "jobs = 2\n")
    put("other.toml", "jobs = 3\n")
    put("pkg/devicefix.toml", "jobs = 4\n")
    assert Configuration(file=Path("other.toml")).for_path("pkg/a.py").jobs == 3
    assert Configuration(isolated=True).for_path("pkg/a.py").jobs == 0
    with pytest.raises(ConfigError, match="no such settings file"):
        Configuration(file=Path("missing.toml")).for_path("a.py")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("jobs = 1\nunsafe-fixs = true\n", 2, "unknown key `unsafe-fixs`; did you mean `unsafe-fixes`?"),
        ("zzz = 1\n", 1, "unknown key `zzz`; the keys are select,"),
        ('\n\nselect = "DVF1"\n', 3, '`select` must be a list of strings, not `"DVF1"`'),
        ("select = [1]\n", 1, "`select` must be a list of strings, not `[1]`"),
        ('unsafe-fixes = "yes"\n', 1, '`unsafe-fixes` must be `true` or `false`, not `"yes"`'),
        ('buffer-style = "x"\n', 1, '`buffer-style` must be "register_buffer" or "nn.Buffer", not `"x"`'),
        ("jobs = -1\n", 1, "`jobs` must be a whole number, 0 or more, not `-1`"),
        ("jobs = true\n", 1, "not `true`"),
        ("torch-version = 2.4\n", 1, '`torch-version` must be a version such as "2.4", not `2.4`'),
        (
            'per-file-ignores = ["a"]\n',
            1,
            '`per-file-ignores` must be a table from patterns to lists of rules, not `["a"]`',
        ),
        ('[per-file-ignores]\n"a" = 1\n', 2, '`per-file-ignores."a"` must be a list of rules, not `1`'),
        ('jobs = 1\nper-file-ignores = { "a" = "DVF1" }\n', 2, 'must be a list of rules, not `"DVF1"`'),
        ('per-file-ignores."b/*" = [2]\n', 1, '`per-file-ignores."b/*"` must be a list of rules, not `[2]`'),
        ("unsafe-fixes = true\nunsafe_fixes = false\n", 2, "`unsafe_fixes` is the same as `unsafe-fixes`"),
        ('modules = ["a.B", "no class"]\n', 1, '`modules` must be a list of classes such as "mylib.layers.Block"'),
        ('in-place-containers = "a.B"\n', 1, "must be a list of classes"),
        ("[tool.devicefix]\njobs = 1\n", 1, "the keys stand without `[tool.devicefix]`"),
        ("jobs = 1\n\nselect = [\n", 3, "not valid TOML"),
        ("a = " + "[" * 100_000, 0, "not valid TOML: nested too deeply"),
        ('jobs = 1\n[exclude]\na = "b"\n', 2, "`exclude` must be a list of strings"),
        ("jobs = \n", 1, "not valid TOML"),
        ("jobs = 1\njobs = 2\n", 2, "not valid TOML"),
        ("extend = 1\n", 1, "`extend` must be the path of a settings file"),
        ('extend = "nowhere.toml"\n', 1, "there is no file"),
        ('extend = "devicefix.toml"\n', 1, "circle"),
    ],
)
def test_mistakes_are_named_with_their_line(text: str, line: int, message: str) -> None:
    put("devicefix.toml", text)
    with pytest.raises(ConfigError) as caught:
        Configuration().for_path("a.py")
    assert message in str(caught.value)
    assert caught.value.line == line
    assert "\n" not in str(caught.value)


def test_the_line_in_a_pyproject_is_that_of_our_table() -> None:
    put("pyproject.toml", '[tool.other]\njobs = "x"\n\n[tool.devicefix]\nignore = []\njobs = "x"\n')
    with pytest.raises(ConfigError) as caught:
        Configuration().for_path("a.py")
    assert caught.value.line == 6
    put("pyproject.toml", '["a"]\n"a" = 2\n[tool.devicefix.per-file-ignores]\n"b" = []\n"a" = 1\n')
    with pytest.raises(ConfigError) as caught:
        Configuration().for_path("a.py")
    assert caught.value.line == 5
    put("pyproject.toml", "[tool.other.exclude]\n[tool.devicefix.exclude]\na = 1\n")
    with pytest.raises(ConfigError) as caught:
        Configuration().for_path("a.py")
    assert caught.value.line == 2


def test_a_broken_pyproject_of_others_is_not_our_business() -> None:
    put("pyproject.toml", "[tool\n")
    assert Configuration().for_path("a.py") == Settings()


def test_underscores_are_as_good_as_hyphens() -> None:
    put("devicefix.toml", "unsafe_fixes = true\n")
    assert Configuration().for_path("a.py").unsafe_fixes


def test_a_byte_order_mark_is_no_mistake() -> None:
    Path("devicefix.toml").write_bytes(b"\xef\xbb\xbfjobs = 3\n")
    assert Configuration().for_path("a.py").jobs == 3


def test_the_place_of_a_selector_is_known() -> None:
    put("base.toml", 'unfixable = ["X1"]\n')
    put("devicefix.toml", 'extend = "base.toml"\nignore = ["X2"]\n[per-file-ignores]\n"a" = ["X3"]\n')
    configuration = Configuration({"select": ("X4",)}, {"ignore": ("X5",), "per_file_ignores": (("b", ("X6",)),)})
    configuration.for_path("a.py")
    places = {name: configuration.origin_of(name) for name in ("X1", "X2", "X3", "X4", "X5", "X6", "X7")}
    assert places["X1"].endswith("base.toml:1: `unfixable`")
    assert places["X2"].endswith("devicefix.toml:2: `ignore`")
    assert places["X3"].endswith("devicefix.toml:3: `per-file-ignores`")
    assert places["X4"] == "--select"
    assert places["X5"] == "--ignore"
    assert places["X6"] == "--per-file-ignores"
    assert places["X7"] == ""
