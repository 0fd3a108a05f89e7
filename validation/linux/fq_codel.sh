#!/usr/bin/env bash
# Measures FQ-CoDel of Debian's kernel in an emulated machine whose clock counts instructions, and
# prints validation/reference/fq_codel_linux.csv. It takes some minutes and needs no privileges but
# those of apt-get.
# usage: fq_codel.sh >../reference/fq_codel_linux.csv
set -euo pipefail

cd "$(dirname "$0")"
../../scripts/setup.sh qemu-system-x86_64:qemu-system-x86 >&2
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

kernel=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends:/ { print $2; exit }')
(cd "$here" && apt-get download "$kernel" busybox-static >&2 && for p in *.deb; do dpkg -x "$p" files; done)

root=$here/root
mkdir -p "$root"/{bin,proc,sys,run,dev,lib64,lib/x86_64-linux-gnu}
cp init "$root/init" && chmod +x "$root/init"
cp "$here/files/bin/busybox" "$root/bin/"
for applet in sh mount insmod poweroff sleep uname; do ln -s busybox "$root/bin/$applet"; done
gcc -O2 -static -o "$root/bin/flows" flows.c
for program in ip tc; do cp -L "$(command -v $program)" "$root/bin/"; done
ldd "$root/bin/ip" "$root/bin/tc" | awk '/=> \// { print $3 }' | sort -u \
  | xargs -I{} cp -L {} "$root/lib/x86_64-linux-gnu/"
cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
for module in net/sched/sch_htb drivers/net/veth; do
  cp "$here"/files/lib/modules/*/kernel/$module.ko "$root/"
done
(cd "$root" && find . | "$here/files/bin/busybox" cpio -o -H newc 2>/dev/null | gzip) >"$here/initrd.gz"

# One instruction takes 2 ns, and idle time none: the load of this machine does not matter.
timeout 1800 qemu-system-x86_64 -accel tcg -icount shift=1,align=off,sleep=off -m 512 -nographic -no-reboot \
  -kernel "$here"/files/boot/vmlinuz-* -initrd "$here/initrd.gz" -nic none \
  -append "console=ttyS0 quiet panic=-1 tsc=reliable" </dev/null | tr -d '\r' >"$here/log"
grep -q '^DONE' "$here/log" || { cat "$here/log" >&2; exit 1; }
echo "kernel,name,quantity,mean"
awk '{ sub(/.*KERNEL /, "KERNEL ") } /^KERNEL/ { kernel = $2 } /^ROW/ { print kernel "," $2 "," $3 "," $4 }' "$here/log"
