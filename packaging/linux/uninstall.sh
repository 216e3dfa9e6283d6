#!/bin/sh
# Removes Strata from this user's home. Models and chats stay, unless this is told otherwise.
#   uninstall.sh                                     asks about models and chats
#   uninstall.sh --yes                               asks nothing, keeps both
#   uninstall.sh --yes --delete-models --delete-chats
set -eu

target="$(cd "$(dirname "$0")" && pwd -P)"
share="$(cat "$target/share-folder")"
# Strata's own folder. One that STRATA_DATA_DIR names may hold more than Strata's files, and stays as it is.
data="${XDG_DATA_HOME:-$HOME/.local/share}/Strata"
bin="$HOME/.local/bin"
asks=1 models=0 chats=0

for option in "$@"; do
    case "$option" in
        --yes) asks=0 ;;
        --delete-models) models=1 ;;
        --delete-chats) chats=1 ;;
        *) echo "Unknown option $option. Use: --yes, --delete-models, --delete-chats" >&2; exit 2 ;;
    esac
done

for exe in /proc/[0-9]*/exe; do
    if [ "$exe" -ef "$target/Strata" ]; then
        echo "Strata is running. Quit it, then uninstall again." >&2
        exit 1
    fi
done
[ -x "$target/Strata" ] && [ -d "$target/runtime-cpu" ] || { echo "There is no Strata in $target." >&2; exit 1; }

ask() {
    printf '%s [y/N] ' "$1"
    read -r answer || answer=n
    case "$answer" in [yY]*) return 0 ;; *) return 1 ;; esac
}

if [ "$asks" = 1 ]; then
    ask "Remove Strata from $target?" || exit 0
    if [ -d "$data/models" ] || [ -d "$data/downloads" ]; then
        size="$(du -shc "$data/models" "$data/downloads" 2>/dev/null | tail -1 | cut -f1)"
        ask "Also delete the models in $data ($size)?" && models=1
    fi
    if [ -d "$data" ]; then
        ask "Also delete your chats and settings in $data?" && chats=1
    fi
fi

rm -f "$share/applications/strata.desktop" "$share/mime/packages/strata.xml" "$share/metainfo/strata.metainfo.xml"
rm -f "$share/icons/hicolor/"*/apps/strata.png "$share/icons/hicolor/scalable/apps/strata.svg"
! [ "$bin/strata" -ef "$target/Strata" ] || rm -f "$bin/strata"
if [ "$models" = 1 ]; then rm -rf "$data/models" "$data/downloads"; fi
if [ "$chats" = 1 ] && [ -d "$data" ]; then
    find "$data" -mindepth 1 -maxdepth 1 ! -name models ! -name downloads -exec rm -rf {} +
fi
# Software for a graphics card, which was fetched for this program alone.
rm -rf "$data/runtimes"
rmdir "$data" 2>/dev/null || true
rm -rf "$target"

update-desktop-database "$share/applications" >/dev/null 2>&1 || true
update-mime-database "$share/mime" >/dev/null 2>&1 || true
gtk-update-icon-cache -q -t "$share/icons/hicolor" >/dev/null 2>&1 || true

echo "Strata is removed."
for kept in "$data" "${STRATA_DATA_DIR:-}"; do
    if [ -n "$kept" ] && [ -d "$kept" ]; then echo "Kept: $kept"; fi
done
