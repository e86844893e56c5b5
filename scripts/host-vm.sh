#!/bin/bash
# A Debian virtual machine with systemd and sshd, on which the agent runs under
# its own unit. Emulated, so that it needs neither KVM nor a network; needs root.
#   scripts/host-vm.sh build FOLDER         makes FOLDER/{disk.raw,vmlinuz,initrd.img,id}
#   scripts/host-vm.sh boot FOLDER PORT     boots a copy; ssh -i FOLDER/id -p PORT root@127.0.0.1
# `boot` stays in the foreground and ends with the machine.
set -euo pipefail

fail() {
    echo "$1" >&2
    exit 1
}

[ $# -ge 2 ] || fail "usage: scripts/host-vm.sh build FOLDER | boot FOLDER PORT"
command=$1
folder=$2

missing=
for tool in mmdebstrap:mmdebstrap qemu-system-x86_64:qemu-system-x86 qemu-img:qemu-utils mke2fs:e2fsprogs ssh-keygen:openssh-client; do
    command -v "${tool%%:*}" >/dev/null 2>&1 || [ -x "/usr/sbin/${tool%%:*}" ] || missing="$missing ${tool##*:}"
done
[ -z "$missing" ] || fail "missing:$missing; install them (apt-get install --no-install-recommends$missing) and run this again"

build() {
    mkdir -p "$folder"
    cd "$folder"
    [ -f id ] || ssh-keygen -q -t ed25519 -N '' -C host-vm -f id
    rm -rf root disk.raw
    cat >customize <<'HOOK'
#!/bin/sh
set -eu
root=$1
echo MODULES=most >"$root/etc/initramfs-tools/conf.d/modules"
echo '/dev/vda / ext4 defaults 0 1' >"$root/etc/fstab"
echo gpu-vm >"$root/etc/hostname"
printf '127.0.0.1 localhost\n127.0.1.1 gpu-vm\n' >"$root/etc/hosts"
: >"$root/etc/machine-id"
printf '[Match]\nName=en* eth*\n[Network]\nDHCP=ipv4\n' >"$root/etc/systemd/network/10-all.network"
chroot "$root" systemctl enable systemd-networkd ssh >/dev/null 2>&1
install -d -m 0700 "$root/root/.ssh"
install -m 0600 id.pub "$root/root/.ssh/authorized_keys"
HOOK
    chmod 0755 customize
    mmdebstrap --quiet --variant=minbase --mode=root --aptopt='APT::Install-Recommends "false"' \
        --include=linux-image-cloud-amd64,systemd-sysv,dbus,udev,libpam-systemd,openssh-server,openssh-sftp-server,iproute2,initramfs-tools,procps,passwd,login,python3-minimal,cron \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' \
        --customize-hook="$PWD/customize \"\$1\"" \
        bookworm root "${GPUAAS_APT_SOURCE:-deb http://deb.debian.org/debian bookworm main}"
    cp root/boot/vmlinuz-* vmlinuz
    cp root/boot/initrd.img-* initrd.img
    truncate -s 4G disk.raw
    # Two million inodes: a tenant may fill a folder with files.
    mke2fs -q -t ext4 -N 2000000 -d root -L root disk.raw
    rm -rf root customize
    echo "built $folder"
}

boot() {
    port=$1
    cd "$folder"
    overlay=$(mktemp "$PWD/overlay.XXXXXX")
    trap 'rm -f "$overlay"' EXIT
    qemu-img create -q -f qcow2 -F raw -b "$PWD/disk.raw" "$overlay"
    qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -m "${GPUAAS_VM_MIB:-2048}" -smp 2 \
        -nographic -nodefaults -no-reboot -kernel vmlinuz -initrd initrd.img \
        -append "root=/dev/vda rw console=ttyS0 quiet panic=-1" \
        -drive "file=$overlay,if=virtio,cache=unsafe" -serial "file:$PWD/serial-$port.log" \
        -netdev "user,id=n0,restrict=on,hostfwd=tcp:127.0.0.1:$port-:22" \
        -device virtio-net-pci,netdev=n0,romfile= -device virtio-rng-pci &
    machine=$!
    # Whoever ends this script ends the machine.
    trap 'kill $machine 2>/dev/null; wait $machine 2>/dev/null; rm -f "$overlay"' EXIT
    trap 'exit 143' TERM INT
    wait $machine
}

case $command in
build) build ;;
boot)
    [ $# -eq 3 ] || fail "usage: scripts/host-vm.sh boot FOLDER PORT"
    boot "$3"
    ;;
*) fail "unknown command $command; use build or boot" ;;
esac
