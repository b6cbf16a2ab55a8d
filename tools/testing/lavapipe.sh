#!/usr/bin/env bash
# Usage: lavapipe.sh FOLDER
# Unpacks a newer Mesa into FOLDER, beside the system: its software Vulkan driver has cooperative
# matrices, which that of Debian 12 lacks. Nothing is installed and root is not needed. It comes
# from the mirror that the system's apt uses (trixie-backports, Mesa 26.1), about 61 MB.
#   FOLDER/run PROGRAM ARGUMENTS…   starts a program with that driver and the C library it needs
#   FOLDER/libvulkan.so.1           the Vulkan loader, for RGX_VULKAN_LIB
set -euo pipefail
root=$(realpath -m "$1")
suite=trixie-backports
[ ! -x "$root/run" ] || exit 0
rm -rf "$root"
mkdir -p "$root"/apt/{lists/partial,cache/archives/partial,parts} "$root/fs"
key=/usr/share/keyrings/debian-archive-keyring.gpg
# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
  grep -E '/debian/?$' | head -n 1)
[ -n "$mirror" ] || { echo "apt knows no mirror of Debian" >&2; exit 1; }
for each in $(printf '%s\n' trixie "$suite" | sort -u); do
  echo "deb [signed-by=$key] $mirror $each main"
done >"$root/apt/sources"
: >"$root/apt/status"
cat >"$root/apt/conf" <<CONF
Dir::Etc::sourcelist "$root/apt/sources";
Dir::Etc::sourceparts "$root/apt/parts";
Dir::Etc::preferencesparts "$root/apt/parts";
Dir::State::Lists "$root/apt/lists";
Dir::State::status "$root/apt/status";
Dir::Cache "$root/apt/cache";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
CONF
export APT_CONFIG="$root/apt/conf"
apt-get -qq update
apt-get -qq -y -d -t "$suite" install mesa-vulkan-drivers libvulkan1 >/dev/null
for deb in "$root"/apt/cache/archives/*.deb; do dpkg -x "$deb" "$root/fs"; done
rm -rf "$root/apt"
lib="$root/fs/usr/lib/x86_64-linux-gnu"
for icd in "$root/fs/usr/share/vulkan/icd.d/lvp_icd"*.json; do
  sed "s#\"library_path\": \".*\"#\"library_path\": \"$lib/libvulkan_lvp.so\"#" "$icd" \
    >"$root/lvp.json"
done
ln -sf "$lib/libvulkan.so.1" "$root/libvulkan.so.1"
cat >"$root/run" <<RUN
#!/bin/sh
export VK_DRIVER_FILES="$root/lvp.json" XDG_RUNTIME_DIR="\${XDG_RUNTIME_DIR:-/tmp}"
program=\$(command -v "\$1")
shift
exec "$lib/ld-linux-x86-64.so.2" --library-path "$lib" "\$program" "\$@"
RUN
chmod +x "$root/run"
