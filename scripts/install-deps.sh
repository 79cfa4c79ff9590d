#!/bin/sh
# Installs the programs that Spool uses, where they are missing.
#   install-deps.sh run    what the service needs: ffmpeg and ffprobe
#   install-deps.sh test   what the tests need beside that: curl, a C compiler
#                          for the race detector, a browser for the pages,
#                          PostgreSQL, another clock and a pooler for it, an
#                          S3 server, an OpenID provider, systemd's check of
#                          units, and nginx
#   install-deps.sh clients  what the tests of clients need beside the tests: Firefox
#   install-deps.sh speech  what the test of a speech engine needs: PocketSphinx
#                          with its model, and a voice
#   install-deps.sh cluster  what a fleet on this machine needs: PostgreSQL, an
#                          S3 server, nginx and curl
#   install-deps.sh container  what the test of the containers needs: podman,
#                          buildah, a runtime, mmdebstrap and an S3 server
#   install-deps.sh arm64  what runs programs of that architecture
set -eu

# missing PROGRAM PACKAGE... prints the packages when the program is not there. No
# function of this script may have the name of a program: it would be taken for it.
missing() {
	program=$1
	shift
	command -v "$program" >/dev/null 2>&1 || printf '%s ' "$@"
}

# Debian keeps the programs of servers out of PATH.
PATH=$PATH:/usr/sbin
postgres_server() {
	ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing postgres postgresql
}

# A library that is loaded before others has no program of its own.
faketime() {
	ls /usr/lib*/*/faketime/libfaketime.so.1 /usr/lib*/faketime/libfaketime.so.1 2>/dev/null | grep -q . || printf 'libfaketime '
}

packages=$(missing ffmpeg ffmpeg)$(missing ffprobe ffmpeg)
case ${1:-run} in
run) ;;
test | clients)
	packages="$packages$(missing curl curl)$(missing gcc gcc libc6-dev)$(missing chromium chromium)$(postgres_server)$(faketime)$(missing pgbouncer pgbouncer)$(missing systemd-analyze systemd)$(missing nginx nginx-light)"
	[ "$1" = test ] || packages="$packages$(missing firefox-esr firefox-esr)"
	;;
cluster) packages="$packages$(missing curl curl)$(missing nginx nginx-light)$(postgres_server)" ;;
container) packages="$packages$(missing curl curl)$(missing podman podman)$(missing buildah buildah)$(missing runc runc)$(missing mmdebstrap mmdebstrap)" ;;
speech) packages="$packages$(missing flite flite)$(python3 -c 'import pocketsphinx' 2>/dev/null || printf 'python3-pocketsphinx pocketsphinx-en-us ')" ;;
arm64) packages=$(missing qemu-aarch64-static qemu-user-static) ;;
*)
	echo "usage: $0 run|test|clients|speech|cluster|container|arm64" >&2
	exit 2
	;;
esac

case ${1:-run} in
test | clients | cluster | container) "$(dirname "$0")/install-s3.sh" ;;
esac
case ${1:-run} in
test | clients) "$(dirname "$0")/install-dex.sh" ;;
esac
packages=$(printf '%s\n' $packages | sort -u | tr '\n' ' ') # one package may have several programs
[ -n "${packages# }" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	echo "Please install with your system's package manager: $packages" >&2
	echo "(on macOS: brew install ffmpeg; on Fedora: dnf install ffmpeg-free)" >&2
	exit 1
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null 2>&1; then
		echo "Please run as root: apt-get install $packages" >&2
		exit 1
	fi
	as_root=sudo
fi

echo "Installing: $packages"
# A package list that is weeks old names files that are gone, so it is renewed
# when the first try fails. $packages is several words on purpose.
install() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages; }
install >/dev/null 2>&1 || { $as_root apt-get update && install; }
