# Reads a table of mounts as /proc/self/mountinfo has it, and prints a line for each: `real` or `other`, its device, its
# mount point. That stays as it is in the table, without a space: \040 stands for one. To be run with LC_ALL=C.

BEGIN {
    # What has no disk behind it, and images, which are full by nature.
    split("autofs binfmt_misc bpf cgroup cgroup2 configfs cramfs debugfs devpts devtmpfs efivarfs erofs fusectl " \
        "fuse.gvfsd-fuse fuse.lxcfs fuse.portal fuse.snapfuse hugetlbfs iso9660 mqueue nsfs proc pstore ramfs rootfs " \
        "rpc_pipefs securityfs selinuxfs squashfs sysfs tmpfs tracefs udf", names, " ")
    for (i in names) without_disk[names[i]] = 1
}

# 36 35 98:0 /inner /mount/point rw,noatime master:1 - ext3 /dev/root rw
{
    for (i = 7; i < NF && $i != "-"; i++);
    if (!($5 in kind)) points[++count] = $5
    kind[$5] = $(i + 1) # a mount on top of another one hides it
    device[$5] = $3
}

END {
    for (i = 1; i <= count; i++)
        print (is_real(points[i]) ? "real" : "other"), device[points[i]], points[i]
}

# Containers are layers on a disk that is in the table already; only the one that Hermes itself runs in counts.
function is_real(point) {
    return !(kind[point] in without_disk) && (kind[point] != "overlay" || point == "/")
}
