#!/bin/bash
# This source file is part of the Optimist open source project, under the MIT licence.
#
# Becomes systemd in a root directory. `unshare` has made namespaces for its mounts, processes, network, hostname and
# control groups. The kernel's settings and the machine's devices are out of its reach, and its network is loopback alone.
set -euo pipefail
root=$1

mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mount -t tmpfs tmpfs dev
for device in null zero full random urandom tty; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
ln -s pts/ptmx dev/ptmx
ip link set lo up

mkdir -p run/outside
pivot_root . run/outside
umount -l run/outside
exec env -i container=check PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=basic.target
