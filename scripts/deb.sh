#!/usr/bin/env bash
# Makes a Debian package of the program BINARY in the directory OUT, with its manual pages and completions: what it
# puts where stands here and nowhere else.
set -euo pipefail

binary=$1 out=$2
top=$(cd "$(dirname "$0")/.." && pwd)
version=$("$binary" --version | cut -d ' ' -f 2)
architecture=$(dpkg --print-architecture)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/root

install -Dm 755 --strip "$binary" "$root/usr/bin/polypath"
install -Dm 644 "$top/packaging/polypath@.service" "$root/lib/systemd/system/polypath@.service"
install -Dm 644 "$top/packaging/polypath.sysusers" "$root/usr/lib/sysusers.d/polypath.conf"
install -dm 755 "$root/usr/share/man/man1" "$root/usr/share/doc/polypath/examples"
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

install -m 644 "$top"/docs/{operation,two-nodes}.md "$root/usr/share/doc/polypath"
install -m 644 "$top"/docs/two-nodes/*.toml "$root/usr/share/doc/polypath/examples"
install -m 644 "$top/CHANGELOG.md" "$root/usr/share/doc/polypath/changelog"
gzip -9n "$root/usr/share/doc/polypath/changelog"
cat >"$root/usr/share/doc/polypath/copyright" <<EOF
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: polypath
Source: https://github.com/polypath/polypath

Files: *
Copyright: 2026 the polypath developers
License: Apache-2.0 or Expat
 The terms are those of /usr/share/common-licenses/Apache-2.0, or those of the Expat (MIT) license:
$(sed 's/^$/./; s/^/ /' "$top/LICENSE-MIT")
EOF

# The version of the C library that its symbols ask for.
libc=$(objdump -T "$root/usr/bin/polypath" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1 | cut -d _ -f 2)
install -dm 755 "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<EOF
Package: polypath
Version: $version
Architecture: $architecture
Maintainer: polypath developers <polypath@users.noreply.github.com>
Installed-Size: $(du -sk --exclude DEBIAN "$root" | cut -f 1)
Depends: libc6 (>= $libc), libgcc-s1
Recommends: systemd
Section: net
Priority: optional
Homepage: https://github.com/polypath/polypath
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
    # Nodes that run go on with the old program until they are restarted: that is for the operator to choose.
  fi
fi
EOF
cat >"$root/DEBIAN/prerm" <<'EOF'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d "$DPKG_ROOT/run/systemd/system" ]; then
  systemctl stop 'polypath@*.service'
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
