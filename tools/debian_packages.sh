#!/bin/sh
# Download packages of a Debian release and unpack them into a folder: nothing is installed, no script of theirs runs.
# Usage: debian_packages.sh FOLDER RELEASE PACKAGE...
set -eu
folder=$1 release=$2
shift 2
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
test -n "$mirror" || { echo "apt knows no Debian mirror: run apt-get update, or add Debian to its sources" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/downloads"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" >"$work/sources.list"

apt() {
  apt-get -qq -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root "$@"
}

apt update
(cd "$work/downloads" && apt download "$@")
rm -rf "$folder"
mkdir -p "$folder"
for package in "$work"/downloads/*.deb; do
  dpkg-deb --extract "$package" "$folder"
done
