# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# To be sourced: Debian's packages and source packages from the mirror that this machine uses, whatever
# Debian it has.

debian_keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# Prints the address of that mirror.
debian_mirror() {
  # shellcheck disable=SC2016 # Fields of apt-get, not variables.
  local mirror='' uri label form='$(REPO_URI)|$(LABEL)'
  while IFS='|' read -r uri label; do
    if [[ $label == Debian || -z $mirror ]]; then mirror=$uri; fi
    if [[ $label == Debian ]]; then break; fi
  done < <(apt-get indextargets --format "$form" 'Created-By: Packages' 'Component: main')
  [[ $mirror ]] || die "no Debian mirror in the sources of apt"
  [[ -e $debian_keyring ]] || die "$debian_keyring is missing: apt-get install debian-archive-keyring"
  echo "$mirror"
}

# prepare_apt DIR [SUITE]: sets the command `apt`, an apt-get with lists of that suite, which it keeps in DIR. Default:
# Debian 12's.
prepare_apt() {
  local mirror suite=${2:-bookworm}
  mirror=$(debian_mirror)
  mkdir -p "$1"/{lists,archives}/partial
  printf "%s [signed-by=%s] %s $suite main\n" deb "$debian_keyring" "$mirror" deb-src "$debian_keyring" "$mirror" \
    >"$1/sources.list"
  : >"$1/status" # What is installed here must not matter.
  apt=(apt-get -q -o Acquire::Retries=3 -o APT::Sandbox::User=root
    -o "Dir::Etc::SourceList=$1/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::status=$1/status" -o "Dir::State::Lists=$1/lists"
    -o "Dir::Cache::archives=$1/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
  "${apt[@]}" update >"$1/log" 2>&1 || die "apt-get update failed, see $1/log"
}
