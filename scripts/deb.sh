#!/usr/bin/env bash
# Builds a Debian package of the program BINARY in the directory OUT, with manual pages and
# completions. Only this file states where the package installs each of its files. The same program
# and revision yield the same bytes (docs/dependencies.md).
# usage: deb.sh BINARY OUT
set -euo pipefail

binary=$1 out=$2
top=$(cd "$(dirname "$0")/.." && pwd)
repository=$(sed -n 's/^repository = "\(.*\)"$/\1/p' "$top/Cargo.toml")
version=$("$binary" --version | cut -d ' ' -f 2)
architecture=$(dpkg --print-architecture)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/root
# Neither the time, the user's umask nor the locale may reach the package.
SOURCE_DATE_EPOCH=$("$top/scripts/source-date.sh")
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022

install -Dm 755 --strip "$binary" "$root/usr/bin/polypath"
install -Dm 644 --strip "$(dirname "$binary")/libpolypath_wrap.so" \
  "$root/usr/lib/polypath/libpolypath_wrap.so"
install -dm 755 "$root/lib/systemd/system"
install -m 644 "$top"/packaging/*.service "$root/lib/systemd/system"
install -Dm 644 "$top/packaging/polypath.sysusers" "$root/usr/lib/sysusers.d/polypath.conf"
install -dm 755 "$root/usr/share/man/man1"
install -dm 750 "$root/etc/polypath"

"$binary" man "$root/usr/share/man/man1"
gzip -9n "$root"/usr/share/man/man1/*
complete() { # SHELL FILE
  install -dm 755 "$root/usr/share/$(dirname "$2")"
  "$binary" completions "$1" >"$root/usr/share/$2"
}
complete bash bash-completion/completions/polypath
complete zsh zsh/vendor-completions/_polypath
complete fish fish/vendor_completions.d/polypath.fish

# The guides keep their relative links to the files that are packaged; other links lead to the
# repository.
doc=$root/usr/share/doc/polypath
install -dm 755 "$doc/two-nodes" "$doc/deploy"
install -m 644 "$top"/docs/{two-nodes,relay,deploy,operation,replay}.md "$doc"
install -m 644 "$top"/docs/two-nodes/*.toml "$doc/two-nodes"
install -m 644 "$top"/docs/deploy/*.toml "$doc/deploy"
for link in $("$top/scripts/links.sh" "$doc"/*.md | sort -u); do
  [ -e "$doc/$link" ] && continue
  if [ ! -e "$top/docs/$link" ]; then
    echo "deb: a guide has a link to $link, which does not exist" >&2
    exit 1
  fi
  sed -i "s|](${link//./\\.}\([#)]\)|]($repository/blob/main/docs/$link\1|g" "$doc"/*.md
done
"$top/scripts/sbom.py" "$root/usr/bin/polypath" >"$doc/polypath.cdx.json"
install -m 644 "$top/CHANGELOG.md" "$doc/changelog"
gzip -9n "$doc/changelog"
cat >"$doc/copyright" <<EOF
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: polypath
Source: $repository

Files: *
Copyright: 2026 the polypath developers
License: Apache-2.0 or Expat
 The terms are those of /usr/share/common-licenses/Apache-2.0, or those of the Expat (MIT) license:
$(sed 's/^$/./; s/^/ /' "$top/LICENSE-MIT")
EOF

# The version of the C library that the program's symbols need.
libc=$(objdump -T "$root/usr/bin/polypath" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1 | cut -d _ -f 2)
# Kilobytes, as dpkg-gencontrol counts them: those that du reports depend on the file system.
installed_size() {
  find "$root" -path "$root/DEBIAN" -prune -o -type f -printf '%s\n' -o -printf '1024\n' \
    | awk '{ size += int(($1 + 1023) / 1024) } END { print size }'
}
install -dm 755 "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<EOF
Package: polypath
Version: $version
Architecture: $architecture
Maintainer: polypath developers <polypath@users.noreply.github.com>
Installed-Size: $(installed_size)
Depends: libc6 (>= $libc), libgcc-s1
Recommends: systemd
Section: net
Priority: optional
Homepage: $repository
Description: media over several paths at once
 Carries the packets of unmodified applications to a peer over several network
 paths at once, encrypted, and simulates and measures beforehand what that does
 to everybody else on those paths.
EOF
cat >"$root/DEBIAN/postinst" <<'EOF'
#!/bin/sh
set -e
if [ "$1" = configure ]; then
  if [ -z "$DPKG_ROOT" ] && command -v systemd-sysusers >/dev/null; then
    systemd-sysusers polypath.conf
    chown root:polypath /etc/polypath
  fi
  if [ -d "$DPKG_ROOT/run/systemd/system" ]; then
    systemctl daemon-reload
    # Running nodes and relays keep the old program until the operator restarts them.
  fi
fi
EOF
cat >"$root/DEBIAN/prerm" <<'EOF'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d "$DPKG_ROOT/run/systemd/system" ]; then
  systemctl stop 'polypath@*.service' 'polypath-relay@*.service'
fi
EOF
cat >"$root/DEBIAN/postrm" <<'EOF'
#!/bin/sh
set -e
if [ -d "$DPKG_ROOT/run/systemd/system" ]; then
  systemctl daemon-reload
fi
EOF
chmod 755 "$root"/DEBIAN/{postinst,prerm,postrm}

mkdir -p "$out"
package=$out/polypath_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
"$top/scripts/deb-check.sh" "$package"
