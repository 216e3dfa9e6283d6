#!/bin/sh
# Installs Strata for the user who runs this. Needs no root and changes nothing outside the home folder.
#   ./strata-….run                    installs, or upgrades what is there
#   ./strata-….run -- --to DIR        somewhere else than ~/.local/opt/strata
set -eu
umask 022

target="$HOME/.local/opt/strata"
share="${XDG_DATA_HOME:-$HOME/.local/share}"
bin="$HOME/.local/bin"

fail() { echo "$1" >&2; exit 1; }

while [ $# -gt 0 ]; do
    case "$1" in
        --to) [ $# -gt 1 ] || fail "--to needs a folder."; target="$2"; shift 2 ;;
        *) fail "Unknown option $1. Use: --to DIR" ;;
    esac
done
case "$target" in /*) ;; *) fail "$target is not a whole path; write it from /." ;; esac

[ "$(id -u)" != 0 ] || [ "${STRATA_ALLOW_ROOT:-}" = 1 ] || \
    fail "This installs Strata for one user; run it without sudo. For everybody, use the .deb package."
here="$(uname -m)"
[ "$here" = "@MACHINE@" ] || fail "This Strata is for @MACHINE@ computers; this one is $here."

# A running program must not lose its files.
for exe in /proc/[0-9]*/exe; do
    ! [ "$exe" -ef "$target/Strata" ] || fail "Strata is running. Quit it, then install again."
done
if [ -e "$target" ] && [ ! -f "$target/uninstall.sh" ]; then
    fail "$target exists and is not Strata. Choose another folder with --to."
fi

mkdir -p "$(dirname "$target")"
need_kb=$(( $(cat bytes) / 1024 + 51200 ))
free_kb=$(df -Pk "$(dirname "$target")" | awk 'NR == 2 { print $4 }')
[ "$free_kb" -ge "$need_kb" ] || \
    fail "Strata needs $(( need_kb / 1024 )) MB in $(dirname "$target"); $(( free_kb / 1024 )) MB are free."

# Unpacked beside its place and put there in one step: an installation that is cut short leaves the old one whole.
# Their names are ours alone: what else lies beside the target is the user's.
staging="$(dirname "$target")/.$(basename "$target").strata-new"
old="$(dirname "$target")/.$(basename "$target").strata-old"
if [ -d "$old" ] && [ ! -e "$target" ]; then mv "$old" "$target"; fi
rm -rf "$staging" "$old"
trap 'rm -rf "$staging"' EXIT
mkdir "$staging"
echo "Unpacking Strata to $target …"
xz --decompress --stdout strata.tar.xz | tar --extract --no-same-owner --directory "$staging" --file -
[ -x "$staging/Strata" ] || fail "The archive could not be unpacked. Is xz installed?"
cp uninstall.sh "$staging/uninstall.sh"
printf '%s\n' "$share" > "$staging/share-folder"
[ ! -e "$target" ] || mv "$target" "$old"
mv "$staging" "$target"
rm -rf "$old"

mkdir -p "$share" "$bin"
(cd share && find . -type f) | while IFS= read -r file; do
    mkdir -p "$share/$(dirname "$file")"
    cp "share/$file" "$share/$file"
done
ln -sfn "$target/Strata" "$bin/strata"
# A menu knows no ~ and maybe no ~/.local/bin: it gets the whole path, quoted as the desktop entry format wants it.
quoted=$(printf '%s' "$target/Strata" | sed 's/[\\"`$]/\\\\&/g')
entry="$share/applications/strata.desktop"
{
    while IFS= read -r line; do
        case "$line" in
            Exec=*) printf 'Exec="%s" %%f\n' "$quoted" ;;
            TryExec=*) ;;
            *) printf '%s\n' "$line" ;;
        esac
    done < share/applications/strata.desktop
} > "$entry"

update-desktop-database "$share/applications" >/dev/null 2>&1 || true
update-mime-database "$share/mime" >/dev/null 2>&1 || true
gtk-update-icon-cache -q -t "$share/icons/hicolor" >/dev/null 2>&1 || true

echo "Strata is installed. It is in the menu; in a terminal: $bin/strata"
echo "To remove it: $target/uninstall.sh"
