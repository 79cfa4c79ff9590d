#!/bin/sh
# Starts spool.service under a real systemd and sends a film through it. Needs root,
# systemd, ffmpeg, curl, and bin/spool; changes nothing on this machine: systemd is
# the first process of namespaces of its own, and its root is a copy of this machine's
# in memory (an overlay).
#   make test-long SUITE=systemd
set -eu
cd "$(dirname "$0")/.."
repository=$(pwd)
here=${SPOOL_TEST_SYSTEMD:-}

# The outer part: waits until the inner part has a result.
if [ -z "$here" ]; then
	[ "$(id -u)" -eq 0 ] || { echo "Run as root: a systemd of its own needs namespaces." >&2; exit 1; }
	here=$(mktemp -d)
	mkdir "$here/out" "$here/memory" "$here/root"
	cgroup=/sys/fs/cgroup
	[ ! -d $cgroup/unified ] || cgroup=$cgroup/unified # beside older hierarchies
	mkdir -p "$cgroup/spool-test"
	SPOOL_TEST_SYSTEMD=$here sh -c 'echo $$ >"$0/spool-test/cgroup.procs"; exec unshare --mount --pid --fork --kill-child --uts --ipc --net --cgroup sh "$1"' \
		"$cgroup" scripts/test-systemd.sh >"$here/boot.log" 2>&1 &
	inner=$!
	clean() {
		kill -9 $inner 2>/dev/null || true
		wait
		rm -rf "$here"
		for _ in 1 2 3 4 5; do # its processes take a moment to go
			find "$cgroup/spool-test" -depth -type d -exec rmdir {} \; 2>/dev/null || true
			[ -d "$cgroup/spool-test" ] || break
			sleep 1
		done
	}
	trap clean EXIT
	trap 'exit 1' INT TERM
	tries=0
	until [ -f "$here/out/result" ]; do
		tries=$((tries + 1))
		if [ $tries -gt 300 ] || ! kill -0 $inner 2>/dev/null; then
			cat "$here/boot.log" "$here/out/log" 2>/dev/null >&2 || true
			echo "systemd did not come to a result" >&2
			exit 1
		fi
		sleep 1
	done
	cat "$here/out/log"
	exit "$(cat "$here/out/result")"
fi

# The inner part: prepares a root, and becomes systemd.
root=$here/root
mount --make-rprivate /
mount -t tmpfs -o size=2g tmpfs "$here/memory"
mkdir "$here/memory/changes" "$here/memory/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$here/memory/changes,workdir=$here/memory/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
mkdir -p "$root/out" "$root/old" "$root/etc/spool"
mount --bind "$here/out" "$root/out"
ip link set lo up

units=$root/etc/systemd/system
rm -rf "$units"/*.wants "$root/etc/machine-id" "$root/etc/spool/"*
for other in systemd-networkd systemd-networkd-wait-online systemd-resolved systemd-timesyncd systemd-udevd systemd-udev-trigger; do
	ln -sf /dev/null "$units/$other.service"
done
install -m 0755 "$repository/bin/spool" "$root/usr/local/bin/spool"
install -m 0644 "$repository"/packaging/systemd/*.service "$units/"
echo SPOOL_API_KEY=systemd-key-0123456789abcdef >"$root/etc/spool/spool.env"
cp "$repository/scripts/send-film.sh" "$root/send-film.sh"
cat >"$units/try.target" <<END
[Unit]
Wants=spool.service check.service
END
cat >"$units/check.service" <<'END'
[Unit]
After=spool.service
[Service]
Type=oneshot
StandardOutput=append:/out/log
StandardError=append:/out/log
ExecStart=/bin/sh -c 'sh /send-film.sh http://127.0.0.1:8080 systemd-key-0123456789abcdef; code=$$?; \
	systemctl stop spool; systemctl show -p Result,ExecMainStatus spool; \
	[ "$$(systemctl show -p Result --value spool)" = success ] || code=1; \
	[ $$code -eq 0 ] || journalctl --no-pager -o cat -u spool | tail -n 20; echo $$code >/out/result.new; mv /out/result.new /out/result'
END
cd "$root"
pivot_root . old # and not chroot, which forbids namespaces of users (PrivateUsers=)
umount -l /old
export container=other
exec /lib/systemd/systemd --unit=try.target
