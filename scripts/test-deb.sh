#!/bin/sh
# Installs the Debian package of bin/release and looks at it: its fields, its files, and
# with root a real installation by dpkg, in a copy of this machine's root in memory.
#   make test-long SUITE=deb
set -eu
cd "$(dirname "$0")/.."
package=$(ls bin/release/spool_*_"$(dpkg --print-architecture)".deb)

want() { # FILE TEXT
	grep -q -e "$2" "$1" || { echo "$2 is missing in:" >&2; cat "$1" >&2; exit 1; }
}
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
dpkg-deb --info "$package" >"$here/info"
dpkg-deb --contents "$package" >"$here/contents"
for text in '^ Package: spool$' '^ Recommends: ffmpeg$' '^ License\|^ Section: video$' 'conffiles' 'postinst'; do want "$here/info" "$text"; done
for file in ./usr/bin/spool ./usr/lib/systemd/system/spool.service ./etc/spool/spool.env \
	./usr/share/bash-completion/completions/spool ./usr/share/doc/spool/copyright; do want "$here/contents" " $file\$"; done
want "$here/contents" '^-rw------- root/root .*./etc/spool/spool.env$'

if [ "$(id -u)" -ne 0 ]; then
	echo "the package looks right; run as root to install it"
	exit 0
fi
# An overlay: dpkg changes the copy, and nothing of this machine.
mkdir "$here/memory" "$here/root"
cat >"$here/install" <<'END'
set -eu
mount -t tmpfs tmpfs "$1/memory"
mkdir "$1/memory/changes" "$1/memory/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/memory/changes,workdir=$1/memory/work" "$1/root"
cp "$2" "$1/root/package.deb"
chroot "$1/root" sh -eu -c '
	dpkg --force-depends -i /package.deb
	spool version
	getent passwd spool
	grep ExecStart=/usr/bin/spool /usr/lib/systemd/system/spool.service
	[ "$(stat -c "%a %U" /etc/spool/spool.env)" = "600 root" ]
	echo SPOOL_BASE_URL=https://video.example.com >/etc/spool/spool.env
	dpkg --force-depends -i /package.deb # an upgrade keeps what was changed
	grep -x SPOOL_BASE_URL=https://video.example.com /etc/spool/spool.env
	mkdir -p /var/lib/spool && touch /var/lib/spool/film
	dpkg -r spool && [ ! -e /usr/bin/spool ] && [ -e /etc/spool/spool.env ]
	dpkg -P spool && [ ! -e /etc/spool/spool.env ] && [ -e /var/lib/spool/film ]
'
END
unshare --mount sh "$here/install" "$here" "$package"
echo "the package can be installed, upgraded, removed and purged"
