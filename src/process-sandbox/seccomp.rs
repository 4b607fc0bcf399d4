//! The filter of system calls: what no program of a job needs, and what has been used to break out of sandboxes.

use libc::{c_long, sock_filter};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;

const LOAD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_ABOVE: u16 = 0x25;
const JUMP_ANY_BIT: u16 = 0x45;
const AND: u16 = 0x54;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7FFF_0000;
const KILL: u32 = 0x8000_0000;
const fn error(number: i32) -> u32 {
    0x0005_0000 | number.unsigned_abs()
}

/// Offsets in what the filter reads: the number, the architecture, and the low word of an argument.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

/// The newest system call that was looked at; later ones do not exist inside. (x86-64's other numbers, from 2^30 on, are above.)
const NEWEST: u32 = 462;

/// Refused with EPERM, whatever the arguments.
const REFUSED: &[c_long] = &[
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    // Keyrings belong to the user, not to a namespace.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Parts of the kernel with many faults, and those for the whole machine.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_lookup_dcookie,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    // System V shared memory and queues are in no bound of memory.
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS__sysctl,
];

/// Answered with ENOSYS, so that programs use what came before: their arguments are in memory, where a filter cannot look.
const ABSENT: &[c_long] = &[
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Its memory is in no bound.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
];

/// Has one number everywhere, and no name in libc for aarch64.
const FCHMODAT2: c_long = 452;

/// Calls with the mode of a file, and which argument that is: no set-user-ID and set-group-ID, which would count outside.
const MODES: &[(c_long, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mkdirat, 2),
    (libc::SYS_mknodat, 2),
];

/// Calls that open, with the arguments of flags and mode: the mode counts only for a file that is made.
const OPENS: &[(c_long, u32, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
    (libc::SYS_openat, 2, 3),
];

/// Flags of `clone` that make a namespace.
const NAMESPACES: u32 = 0x7E02_0080;
/// Terminal requests that type into a terminal.
const TYPING: [u32; 2] = [0x5412, 0x541C];
/// F_SETLEASE
const LEASE: u32 = 1024;
const SET_IDS: u32 = 0o6000;

const fn step(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// Instructions for one call: skipped unless its number is loaded; they end with a decision or load the number again.
fn only_for(number: c_long, body: &[sock_filter], filter: &mut Vec<sock_filter>) {
    let skip = u8::try_from(body.len() + 1).unwrap_or(u8::MAX);
    filter.push(step(JUMP_EQUAL, call(number), 0, skip));
    filter.extend_from_slice(body);
    filter.push(step(RETURN, ALLOW, 0, 0));
}

fn call(number: c_long) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The whole filter.
pub fn filter() -> Vec<sock_filter> {
    let (refuse, absent) = (error(libc::EPERM), error(libc::ENOSYS));
    let mut filter = vec![
        // Another instruction set has other numbers.
        step(LOAD, ARCH, 0, 0),
        step(JUMP_EQUAL, ARCHITECTURE, 1, 0),
        step(RETURN, KILL, 0, 0),
        step(LOAD, NUMBER, 0, 0),
        step(JUMP_ABOVE, NEWEST, 0, 1),
        step(RETURN, absent, 0, 0),
    ];
    for (numbers, answer) in [(REFUSED, refuse), (ABSENT, absent)] {
        for number in numbers {
            filter.push(step(JUMP_EQUAL, call(*number), 0, 1));
            filter.push(step(RETURN, answer, 0, 0));
        }
    }
    let any_bit =
        |index, bits| [step(LOAD, argument(index), 0, 0), step(JUMP_ANY_BIT, bits, 0, 1), step(RETURN, refuse, 0, 0)];
    only_for(libc::SYS_clone, &any_bit(0, NAMESPACES), &mut filter);
    for (number, mode) in MODES {
        only_for(*number, &any_bit(*mode, SET_IDS), &mut filter);
    }
    for (number, flags, mode) in OPENS {
        let body = [
            step(LOAD, argument(*flags), 0, 0),
            // O_CREAT, or the bit of O_TMPFILE.
            step(JUMP_ANY_BIT, 0o20_000_100, 0, 3),
            step(LOAD, argument(*mode), 0, 0),
            step(JUMP_ANY_BIT, SET_IDS, 0, 1),
            step(RETURN, refuse, 0, 0),
        ];
        only_for(*number, &body, &mut filter);
    }
    let typing = [
        step(LOAD, argument(1), 0, 0),
        step(JUMP_EQUAL, TYPING[0], 1, 0),
        step(JUMP_EQUAL, TYPING[1], 0, 1),
        step(RETURN, refuse, 0, 0),
    ];
    only_for(libc::SYS_ioctl, &typing, &mut filter);
    // A lease delays everybody else who opens the file.
    let lease = [step(LOAD, argument(1), 0, 0), step(JUMP_EQUAL, LEASE, 0, 1), step(RETURN, refuse, 0, 0)];
    only_for(libc::SYS_fcntl, &lease, &mut filter);
    let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6].map(|family| family.unsigned_abs());
    for number in [libc::SYS_socket, libc::SYS_socketpair] {
        let body = [
            step(LOAD, argument(0), 0, 0),
            step(JUMP_EQUAL, families[0], 3, 0),
            step(JUMP_EQUAL, families[1], 2, 0),
            step(JUMP_EQUAL, families[2], 1, 0),
            step(RETURN, error(libc::EAFNOSUPPORT), 0, 0),
            // Of the kinds of sockets, no raw ones (3), whatever the flags beside.
            step(LOAD, argument(1), 0, 0),
            step(AND, 0xF, 0, 0),
            step(JUMP_EQUAL, libc::SOCK_RAW.unsigned_abs(), 0, 1),
            step(RETURN, refuse, 0, 0),
        ];
        only_for(number, &body, &mut filter);
    }
    // Only the usual execution domain, and asking for it: no memory at fixed addresses, no other system's numbers.
    let domain = [
        step(LOAD, argument(0), 0, 0),
        step(JUMP_EQUAL, 0, 2, 0),
        step(JUMP_EQUAL, u32::MAX, 1, 0),
        step(RETURN, refuse, 0, 0),
    ];
    only_for(libc::SYS_personality, &domain, &mut filter);
    filter.push(step(RETURN, ALLOW, 0, 0));
    filter
}

/// What code needs that only computes, with an input and an output that are open already.
const COMPUTING: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_sched_yield,
    libc::SYS_restart_syscall,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_tgkill,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// A second filter for a part of Hob's own binary: all but [`COMPUTING`] is refused, so it opens, starts and sends nothing.
pub fn confined() -> Vec<sock_filter> {
    let mut filter = vec![
        step(LOAD, ARCH, 0, 0),
        step(JUMP_EQUAL, ARCHITECTURE, 1, 0),
        step(RETURN, KILL, 0, 0),
        step(LOAD, NUMBER, 0, 0),
    ];
    for number in COMPUTING {
        filter.push(step(JUMP_EQUAL, call(*number), 0, 1));
        filter.push(step(RETURN, ALLOW, 0, 0));
    }
    filter.push(step(RETURN, error(libc::EPERM), 0, 0));
    filter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel does.
    fn decide(number: c_long, args: [u64; 6]) -> u32 {
        decide_by(&filter(), number, args)
    }

    fn decide_by(filter: &[sock_filter], number: c_long, args: [u64; 6]) -> u32 {
        let mut data = [0_u8; 64];
        data[..4].copy_from_slice(&call(number).to_le_bytes());
        data[4..8].copy_from_slice(&ARCHITECTURE.to_le_bytes());
        for (index, argument) in args.iter().enumerate() {
            data[16 + 8 * index..24 + 8 * index].copy_from_slice(&argument.to_le_bytes());
        }
        let (mut accumulator, mut at) = (0_u32, 0);
        loop {
            let sock_filter { code, jt, jf, k } = filter[at];
            let jump = |holds: bool| at + 1 + usize::from(if holds { jt } else { jf });
            at = match code {
                LOAD => {
                    let word = &data[k as usize..k as usize + 4];
                    accumulator = u32::from_le_bytes(word.try_into().unwrap());
                    at + 1
                }
                AND => {
                    accumulator &= k;
                    at + 1
                }
                JUMP_EQUAL => jump(accumulator == k),
                JUMP_ABOVE => jump(accumulator > k),
                JUMP_ANY_BIT => jump(accumulator & k != 0),
                RETURN => return k,
                other => panic!("unknown instruction {other}"),
            };
        }
    }

    #[test]
    fn calls_are_decided_by_their_arguments() {
        let (refuse, absent) = (error(libc::EPERM), error(libc::ENOSYS));
        let one = |index: usize, value: u64| {
            let mut args = [0; 6];
            args[index] = value;
            args
        };
        for (what, number, args, expected) in [
            ("read", libc::SYS_read, [0; 6], ALLOW),
            ("mount", libc::SYS_mount, [0; 6], refuse),
            ("io_uring", libc::SYS_io_uring_setup, [0; 6], absent),
            ("newer than known", 463, [0; 6], absent),
            ("x32 read", 0x4000_0000, [0; 6], absent),
            ("a thread", libc::SYS_clone, one(0, 0x003D_0F00), ALLOW),
            ("a user namespace", libc::SYS_clone, one(0, 0x1000_0011), refuse),
            ("a time namespace", libc::SYS_clone, one(0, 0x91), refuse),
            ("high bits of clone", libc::SYS_clone, one(0, 0x1_0000_0011), ALLOW),
            ("chmod 755", libc::SYS_fchmodat, one(2, 0o755), ALLOW),
            ("chmod 4755", libc::SYS_fchmodat, one(2, 0o4755), refuse),
            ("open", libc::SYS_openat, [0, 0, 0, 0o6777, 0, 0], ALLOW),
            ("make with set-user-ID", libc::SYS_openat, [0, 0, 0o101, 0o4755, 0, 0], refuse),
            ("make", libc::SYS_openat, [0, 0, 0o101, 0o755, 0, 0], ALLOW),
            ("TIOCSTI", libc::SYS_ioctl, one(1, 0x5412), refuse),
            ("TIOCSTI with high bits", libc::SYS_ioctl, one(1, 0xFFFF_FFFF_0000_5412), refuse),
            ("TIOCLINUX", libc::SYS_ioctl, one(1, 0x541C), refuse),
            ("TCGETS", libc::SYS_ioctl, one(1, 0x5401), ALLOW),
            ("TCP", libc::SYS_socket, [2, 1, 0, 0, 0, 0], ALLOW),
            ("a raw socket", libc::SYS_socket, [2, 0x8_0003, 0, 0, 0, 0], refuse),
            ("netlink", libc::SYS_socket, [16, 2, 0, 0, 0, 0], error(libc::EAFNOSUPPORT)),
            ("vsock", libc::SYS_socket, [40, 1, 0, 0, 0, 0], error(libc::EAFNOSUPPORT)),
            ("a pair", libc::SYS_socketpair, [1, 1, 0, 0, 0, 0], ALLOW),
            ("personality", libc::SYS_personality, one(0, 0xFFFF_FFFF), ALLOW),
            ("no random addresses", libc::SYS_personality, one(0, 0x0004_0000), refuse),
        ] {
            assert_eq!(decide(number, args), expected, "{what}");
        }
    }

    #[test]
    fn a_part_of_the_binary_only_computes() {
        let refuse = error(libc::EPERM);
        for (number, expected) in [
            (libc::SYS_read, ALLOW),
            (libc::SYS_mmap, ALLOW),
            (libc::SYS_exit_group, ALLOW),
            (libc::SYS_openat, refuse),
            (libc::SYS_execve, refuse),
            (libc::SYS_socket, refuse),
            (libc::SYS_clone, refuse),
            (libc::SYS_kill, refuse),
            (libc::SYS_prctl, refuse),
            (0x4000_0000, refuse),
        ] {
            assert_eq!(decide_by(&confined(), number, [0; 6]), expected, "{number}");
        }
    }

    #[test]
    fn it_is_short_enough_for_the_kernel() {
        assert!(filter().len() < 4096 && filter().iter().all(|step| step.jt < u8::MAX && step.jf < u8::MAX));
    }
}
