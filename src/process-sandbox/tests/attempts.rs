//! Attempts to leave the sandbox: small programs that print `ESCAPED` if they get what they must not get, and `TRIED` at their end.
//!
//! `{data}`, `{out}`, `{port}`, `{abstract}`, `{victim}` and `{hob}` stand for things outside: the data folder, a folder that is
//! mounted nowhere, a port, an abstract socket, and the numbers of two processes.

use super::escapes::Language::{self, C, Python, Shell};

pub const ATTEMPTS: &[(&str, Language, &str)] = &[
    // Files and mounts.
    ("read the data folder by its path", Shell, "cat {data}/secret && echo ESCAPED"),
    (
        "read the data folder below a mount",
        Shell,
        "cat /places/parent/data/secret && echo ESCAPED; ls /places/parent/data && echo ESCAPED",
    ),
    (
        "read what is covered",
        Shell,
        "cat /workspace/deep/private/key && echo ESCAPED; cat /workspace/closed && echo ESCAPED",
    ),
    (
        "move the folder around what is covered",
        Shell,
        "mv /workspace/deep /workspace/moved; cat /workspace/moved/private/key && echo ESCAPED; mv /workspace/moved /workspace/deep",
    ),
    (
        "remove a cover",
        Shell,
        "rmdir /workspace/deep/private && echo ESCAPED; rm -f /workspace/closed && echo ESCAPED; mv /workspace/closed /workspace/open && echo ESCAPED",
    ),
    (
        "follow a link to the outside",
        Shell,
        "ln -sf {data} /workspace/link; cat /workspace/link/secret && echo ESCAPED; ln -sf {out}/canary /workspace/link2; cat /workspace/link2 && echo ESCAPED",
    ),
    (
        "follow /proc/self/root and the parent of the root",
        Shell,
        "cat /proc/self/root{data}/secret && echo ESCAPED; cd / && cd ../../.. && cat .{data}/secret && echo ESCAPED",
    ),
    (
        "write the base",
        Shell,
        "touch /usr/x && echo ESCAPED; touch /etc/x && echo ESCAPED; touch /x && echo ESCAPED; echo x >> /etc/passwd && echo ESCAPED; touch /bin/x && echo ESCAPED",
    ),
    (
        "write a read-only mount",
        Shell,
        "cd /places/read; echo x > canary && echo ESCAPED; rm -f canary && echo ESCAPED; mv canary other && echo ESCAPED; chmod 777 canary && echo ESCAPED; touch -d 2001-01-01 canary && echo ESCAPED; mkdir x && echo ESCAPED",
    ),
    (
        "link a read-only file into a writable mount",
        Shell,
        "ln /places/read/canary /workspace/hard && { echo ESCAPED; echo x > /workspace/hard; }; mv /places/read/canary /workspace/ && echo ESCAPED",
    ),
    (
        "open a read-only file again by its number",
        Shell,
        "exec 3< /places/read/canary; echo x > /proc/self/fd/3 && echo ESCAPED; echo x > /dev/fd/3 && echo ESCAPED",
    ),
    (
        "link a read-only file by its number",
        C,
        r#"int fd=open("/places/read/canary",O_PATH);char p[64];sprintf(p,"/proc/self/fd/%d",fd);
        if(linkat(AT_FDCWD,p,AT_FDCWD,"/workspace/hard2",AT_SYMLINK_FOLLOW)==0)ESCAPED; if(linkat(fd,"",AT_FDCWD,"/workspace/hard3",AT_EMPTY_PATH)==0)ESCAPED;"#,
    ),
    (
        "truncate a read-only file",
        Python,
        "attempt(lambda: os.truncate('/places/read/canary',0))\nattempt(lambda: os.setxattr('/places/read/canary','user.x',b'y'))\nattempt(lambda: os.utime('/places/read/canary',(1,1)))",
    ),
    (
        "mount a file system",
        C,
        r#"if(mount("x","/tmp","tmpfs",0,0)==0)ESCAPED; if(mount("/usr","/tmp","none",MS_BIND,0)==0)ESCAPED;"#,
    ),
    (
        "make a mount writable",
        C,
        r#"if(mount(0,"/usr",0,MS_REMOUNT|MS_BIND,0)==0)ESCAPED; if(mount(0,"/places/read",0,MS_REMOUNT|MS_BIND,0)==0)ESCAPED; if(mount(0,"/",0,MS_REMOUNT|MS_BIND,0)==0)ESCAPED;"#,
    ),
    (
        "remove a mount",
        C,
        r#"if(umount2("/places/parent/data",MNT_DETACH)==0)ESCAPED; if(umount2("/proc/kcore",MNT_DETACH)==0)ESCAPED; if(umount2("/usr",MNT_DETACH)==0)ESCAPED;"#,
    ),
    (
        "move the root",
        C,
        r#"chdir("/tmp");mkdir("r",0755); if(chroot("r")==0){ESCAPED;for(int i=0;i<9;i++)chdir("..");chroot(".");} if(syscall(SYS_pivot_root,".",".")==0)ESCAPED;"#,
    ),
    (
        "mount by the newer calls",
        C,
        r#"if(syscall(428,AT_FDCWD,"/usr",1)>=0)ESCAPED; if(syscall(430,"tmpfs",0)>=0)ESCAPED; if(syscall(432,-1,0,0)>=0)ESCAPED; if(syscall(429,-1,"",-1,"",4)>=0)ESCAPED;
        unsigned long a[4]={0,1,0,0}; if(syscall(442,AT_FDCWD,"/usr",0,a,32)>=0)ESCAPED;"#,
    ),
    (
        "open a file by its handle",
        C,
        r#"struct{struct file_handle h;unsigned char b[16];}f={{8,1},{2}};int m=open("/workspace",O_RDONLY);
        if(open_by_handle_at(m,&f.h,O_RDONLY)>=0)ESCAPED; int id;f.h.handle_bytes=16; if(name_to_handle_at(AT_FDCWD,"/workspace",&f.h,&id,0)==0)ESCAPED;"#,
    ),
    (
        "make a device",
        C,
        r#"if(mknod("/workspace/disk",S_IFBLK|0666,makedev(8,0))==0)ESCAPED; if(mknod("/tmp/mem",S_IFCHR|0666,makedev(1,1))==0)ESCAPED; if(mknod("/tmp/null",S_IFCHR|0666,makedev(1,3))==0)ESCAPED;"#,
    ),
    (
        "open a device of the machine",
        Shell,
        "for d in mem kmem port kmsg sda vda mmcblk0 nvme0n1 console tty0 tty1 input/event0 gpiochip0 i2c-1 net/tun fuse kvm vsock loop-control mapper/control; do [ -e /dev/$d ] && echo ESCAPED; done; ls /dev/pts | grep -v ptmx && echo ESCAPED",
    ),
    (
        "look into /sys and /run",
        Shell,
        "for d in /sys /run /home /var/lib /root /mnt /media /srv /boot; do [ -n \"$(ls -A $d 2>/dev/null)\" ] && echo ESCAPED $d; done",
    ),
    (
        "load the passwords of the machine",
        Shell,
        "cat /etc/shadow /etc/sudoers /etc/hob/hob.toml /root/.ssh/id_rsa && echo ESCAPED",
    ),
    (
        "put the programs of others in the base",
        Shell,
        "echo x > /usr/bin/env && echo ESCAPED; cp /bin/sh /usr/local/bin/git && echo ESCAPED; echo /tmp/x.so > /etc/ld.so.preload && echo ESCAPED",
    ),
    // /proc.
    (
        "set what the kernel runs on a crash",
        Shell,
        "echo '|/workspace/x' > /proc/sys/kernel/core_pattern && echo ESCAPED; echo /workspace/x > /proc/sys/kernel/modprobe && echo ESCAPED; echo /workspace/x > /proc/sys/kernel/hotplug && echo ESCAPED",
    ),
    (
        "change settings of the kernel",
        Shell,
        "for f in kernel/panic vm/drop_caches vm/overcommit_memory fs/file-max kernel/hostname kernel/randomize_va_space net/ipv4/ip_forward; do echo 1 > /proc/sys/$f && echo ESCAPED $f; done",
    ),
    ("restart the machine by /proc", Shell, "echo h > /proc/sysrq-trigger && echo ESCAPED"),
    (
        "read the memory of the kernel",
        Shell,
        "head -c 16 /proc/kcore | grep -q . && echo ESCAPED; grep -q . /proc/kallsyms && echo ESCAPED; head -c 1 /proc/kmsg | grep -q . && echo ESCAPED; dmesg | grep -q . && echo ESCAPED; grep -q . /proc/keys && echo ESCAPED; grep -q . /proc/iomem && echo ESCAPED",
    ),
    (
        "look at the first process",
        Shell,
        "cat /proc/1/environ /proc/1/maps /proc/1/cmdline | tr '\\0' x | grep -q . && echo ESCAPED; ls /proc/1/fd && echo ESCAPED; ls /proc/1/root/ && echo ESCAPED; readlink /proc/1/exe && echo ESCAPED; ls -d /proc/1 && echo ESCAPED",
    ),
    (
        "overwrite Hob's program",
        Python,
        "for p in ['/proc/1/exe','/proc/self/exe','/proc/%d/exe'%os.getppid()]:\n    attempt(lambda: os.open(p, os.O_WRONLY))\n    attempt(lambda: os.open(p, os.O_RDWR|os.O_TRUNC))",
    ),
    (
        "write the memory of the first process",
        Python,
        "attempt(lambda: os.open('/proc/1/mem', os.O_RDWR))\nattempt(lambda: os.open('/proc/1/mem', os.O_RDONLY))",
    ),
    (
        "see processes outside",
        Shell,
        "m={marker}; cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -q \"[s]leep $m\" && echo ESCAPED; ps ax 2>/dev/null | grep -q \"[s]leep $m\" && echo ESCAPED; [ -e /proc/{victim} ] && echo ESCAPED; [ -e /proc/{hob} ] && echo ESCAPED",
    ),
    (
        "see Hob's environment",
        Shell,
        "env | grep -q ^CARGO && echo ESCAPED; cat /proc/*/environ | tr '\\0' '\\n' | grep -q ^CARGO && echo ESCAPED",
    ),
    (
        "find files that Hob left open",
        Python,
        "fds=[f for f in os.listdir('/proc/self/fd') if int(f)>2]\nlinks=[]\nfor f in fds:\n    try: links.append(os.readlink('/proc/self/fd/'+f))\n    except OSError: pass\nif links: print('ESCAPED',links)",
    ),
    (
        "mount the control groups",
        C,
        r#"mkdir("/tmp/cg",0755); if(mount("none","/tmp/cg","cgroup2",0,0)==0)ESCAPED; if(mount("none","/tmp/cg","cgroup",0,"memory")==0)ESCAPED; if(open("/sys/fs/cgroup/cgroup.procs",O_WRONLY)>=0)ESCAPED; if(open("/sys/fs/cgroup/memory/release_agent",O_WRONLY)>=0)ESCAPED;"#,
    ),
    // Processes.
    (
        "trace the first process",
        C,
        r#"if(ptrace(PTRACE_ATTACH,1,0,0)==0)ESCAPED; if(ptrace(PTRACE_SEIZE,1,0,0)==0)ESCAPED; if(ptrace(PTRACE_TRACEME,0,0,0)==0)ESCAPED;"#,
    ),
    (
        "read and write the memory of others",
        C,
        r#"char b[8];struct iovec l={b,8},r={(void*)0x400000,8}; if(process_vm_readv(1,&l,1,&r,1,0)>=0)ESCAPED; if(process_vm_writev(1,&l,1,&r,1,0)>=0)ESCAPED; if(process_vm_readv(getpid(),&l,1,&l,1,0)>=0)ESCAPED;"#,
    ),
    ("end the first process", Shell, "kill -9 1; kill -STOP 1; kill -TERM 1; kill -INT 1; sleep 0.1"),
    (
        "end processes outside",
        Python,
        "import signal\nfor p in [{victim},{hob},-{victim},-{hob}]:\n    attempt(lambda: os.kill(p, 0))\n    try: os.kill(p, signal.SIGKILL)\n    except OSError: pass",
    ),
    (
        "signal outside by handles",
        C,
        r#"int p=syscall(434,{victim},0); if(p>=0){ESCAPED;syscall(424,p,9,0,0);} p=syscall(434,1,0); if(p>=0&&syscall(438,p,0,0)>=0)ESCAPED; if(syscall(SYS_tgkill,{victim},{victim},9)==0)ESCAPED;"#,
    ),
    (
        "be signalled by files outside",
        C,
        r#"int s[2];socketpair(AF_UNIX,SOCK_STREAM,0,s); if(fcntl(s[0],F_SETOWN,{victim})==0)ESCAPED;"#,
    ),
    (
        "compare and advise others",
        C,
        r#"if(syscall(SYS_kcmp,1,getpid(),0,0,0)>=0)ESCAPED; if(syscall(440,-1,0,0,0,0)>=0)ESCAPED; if(syscall(SYS_migrate_pages,1,0,0,0)>=0)ESCAPED;"#,
    ),
    (
        "enter the namespaces of others",
        C,
        r#"const char*n[]={"user","mnt","net","pid","ipc","uts"};for(int i=0;i<6;i++){char p[64];sprintf(p,"/proc/1/ns/%s",n[i]);int fd=open(p,O_RDONLY);if(fd>=0)ESCAPED;sprintf(p,"/proc/self/ns/%s",n[i]);fd=open(p,O_RDONLY);if(fd>=0&&setns(fd,0)==0)ESCAPED;}
        int t=open("/proc/self/ns/user",O_RDONLY); if(t>=0&&ioctl(t,0xb702)>=0)ESCAPED; if(t>=0&&ioctl(t,0xb701)>=0)ESCAPED;"#,
    ),
    (
        "make a user namespace",
        C,
        r#"if(unshare(CLONE_NEWUSER)==0)ESCAPED; if(unshare(CLONE_NEWNS)==0)ESCAPED; if(unshare(0)==0)ESCAPED;"#,
    ),
    (
        "make a user namespace with a process",
        C,
        r#"static char st[65536];extern int sub(void*);int p=clone(sub,st+65536,CLONE_NEWUSER|SIGCHLD,0);if(p>=0)ESCAPED; p=clone(sub,st+65536,CLONE_NEWPID|SIGCHLD,0);if(p>=0)ESCAPED; p=clone(sub,st+65536,CLONE_NEWNET|SIGCHLD,0);if(p>=0)ESCAPED;
        unsigned long a[11]={CLONE_NEWUSER,0,0,0,SIGCHLD}; long r=syscall(435,a,88);if(r==0)_exit(0);if(r>0)ESCAPED;"#,
    ),
    (
        "make a user namespace with the command",
        Shell,
        "unshare -U true && echo ESCAPED; unshare -Urm true && echo ESCAPED",
    ),
    (
        "reach keyrings",
        C,
        r#"if(syscall(SYS_keyctl,0,-3,0)>=0)ESCAPED; if(syscall(SYS_keyctl,11,-4,0,0)>=0)ESCAPED; if(syscall(SYS_add_key,"user","x","y",1,-4)>=0)ESCAPED; if(syscall(SYS_request_key,"user","x",0,-4)>=0)ESCAPED;"#,
    ),
    (
        "become another user",
        C,
        r#"if(setuid(0)==0)ESCAPED; if(setresuid(0,0,0)==0)ESCAPED; if(setgid(0)==0)ESCAPED; if(setreuid(1,1)==0)ESCAPED; gid_t g=0; if(setgroups(1,&g)==0)ESCAPED; if(getuid()==0||geteuid()==0)ESCAPED; setfsuid(0); if(setfsuid(0)==0)ESCAPED;"#,
    ),
    (
        "become root by a program",
        Shell,
        "for p in su sudo pkexec newuidmap mount passwd; do q=$(command -v $p) && [ -u $q ] && $q -c id </dev/null 2>&1 | grep -q uid=0 && echo ESCAPED; done; [ \"$(id -u)\" = 0 ] && echo ESCAPED",
    ),
    (
        "leave a set-user-ID program",
        C,
        r#"int fd=open("/workspace/suid",O_CREAT|O_RDWR,04755); if(fd>=0)ESCAPED; fd=open("/workspace/plain",O_CREAT|O_RDWR,0755); if(fchmod(fd,04755)==0)ESCAPED; if(chmod("/workspace/plain",02755)==0)ESCAPED; if(fchmodat(AT_FDCWD,"/workspace/plain",06755,0)==0)ESCAPED;
        if(mkdir("/workspace/sgid",02755)==0)ESCAPED; if(syscall(SYS_openat,AT_FDCWD,"/workspace/s2",O_CREAT|O_WRONLY,04755)>=0)ESCAPED; unsigned long how[3]={O_CREAT|O_WRONLY,04755,0}; if(syscall(437,AT_FDCWD,"/workspace/s3",how,24)>=0)ESCAPED; if(syscall(452,AT_FDCWD,"/workspace/plain",04755,0)>=0)ESCAPED;
        if(open("/workspace",O_TMPFILE|O_RDWR,04755)>=0)ESCAPED;"#,
    ),
    (
        "keep a capability",
        Python,
        "s=dict(l.split(':\\t',1) for l in open('/proc/self/status').read().splitlines() if ':\\t' in l)\nfor k in ['CapInh','CapPrm','CapEff','CapBnd','CapAmb']:\n    if int(s[k],16): print('ESCAPED',k,s[k])\nif s['NoNewPrivs']!='1' or s['Seccomp']!='2': print('ESCAPED',s)",
    ),
    (
        "gain a capability by a file",
        Python,
        "open('/workspace/cap','w').close()\nattempt(lambda: os.setxattr('/workspace/cap','security.capability',bytes.fromhex('0100000200000020000000000000000000000000')))\nattempt(lambda: os.setxattr('/workspace/cap','trusted.x',b'1'))",
    ),
    (
        "undo what was given up",
        C,
        r#"if(prctl(PR_SET_NO_NEW_PRIVS,0,0,0,0)==0)ESCAPED; if(prctl(PR_CAP_AMBIENT,PR_CAP_AMBIENT_RAISE,21,0,0)==0)ESCAPED; if(prctl(PR_SET_SECCOMP,0,0,0,0)==0)ESCAPED; if(prctl(PR_SET_MM,PR_SET_MM_START_CODE,0x400000,0,0)==0)ESCAPED; if(prctl(PR_SET_SECUREBITS,0x2f,0,0,0)==0)ESCAPED;"#,
    ),
    (
        "raise limits and priority",
        C,
        r#"struct rlimit r={RLIM_INFINITY,RLIM_INFINITY}; if(setrlimit(RLIMIT_NPROC,&r)==0)ESCAPED; if(setrlimit(RLIMIT_DATA,&r)==0)ESCAPED; if(setrlimit(RLIMIT_FSIZE,&r)==0)ESCAPED; if(prlimit(1,RLIMIT_NOFILE,&r,0)==0)ESCAPED; if(setpriority(PRIO_PROCESS,0,-10)==0)ESCAPED;
        struct sched_param p={50}; if(sched_setscheduler(0,SCHED_FIFO,&p)==0)ESCAPED;"#,
    ),
    (
        "be spared when memory runs out",
        Shell,
        "echo -1000 > /proc/self/oom_score_adj && echo ESCAPED; [ \"$(cat /proc/self/oom_score_adj)\" -ge 900 ] || echo ESCAPED",
    ),
    // Sockets.
    (
        "reach an abstract socket",
        Python,
        "s=socket.socket(socket.AF_UNIX)\nattempt(lambda: s.connect('\\0{abstract}'))\nd=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)\nattempt(lambda: d.sendto(b'x','\\0{abstract}-d'))",
    ),
    (
        "reach Hob's socket",
        Python,
        "for p in ['{data}/hob.sock','/places/parent/data/hob.sock','/run/docker.sock','/var/run/docker.sock','/run/dbus/system_bus_socket','/run/systemd/private']:\n    s=socket.socket(socket.AF_UNIX)\n    attempt(lambda: s.connect(p))",
    ),
    (
        "reach a port of the machine",
        Python,
        "for h in ['127.0.0.1','::1','0.0.0.0']:\n    s=socket.socket(socket.AF_INET6 if ':' in h else socket.AF_INET)\n    s.settimeout(2)\n    attempt(lambda: s.connect((h,{port})))",
    ),
    (
        "reach the network",
        Python,
        "for h in ['1.1.1.1','192.168.1.1','10.0.0.1','169.254.169.254','224.0.0.251','255.255.255.255']:\n    s=socket.socket(socket.AF_INET)\n    s.settimeout(2)\n    attempt(lambda: s.connect((h,80)))\n    u=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n    attempt(lambda: u.sendto(b'x',(h,53)))\nattempt(lambda: socket.getaddrinfo('example.org',80))",
    ),
    (
        "open raw and other sockets",
        Python,
        "for f,t,p in [(2,3,1),(10,3,58),(17,3,3),(17,2,0),(16,3,0),(16,2,9),(40,1,0),(38,5,0),(31,3,1),(1,3,0),(44,3,0),(29,3,1),(21,5,0),(30,1,0)]:\n    if (f,t)==(1,3): continue\n    attempt(lambda: socket.socket(f,t,p))",
    ),
    (
        "see the interfaces of the machine",
        Shell,
        "grep -e eth -e wlan -e enp -e ens /proc/net/dev && echo ESCAPED; grep -q {abstract} /proc/net/unix && echo ESCAPED; grep -q hob.sock /proc/net/unix && echo ESCAPED; [ \"$(wc -l < /proc/net/tcp)\" -gt 1 ] && echo ESCAPED",
    ),
    // Terminals.
    (
        "reach a terminal",
        Shell,
        "(: > /dev/tty) && echo ESCAPED; (: < /dev/tty) && echo ESCAPED; tty && echo ESCAPED; readlink /proc/self/fd/0 | grep -q pts && echo ESCAPED",
    ),
    (
        "type into a terminal",
        C,
        r#"int m=open("/dev/ptmx",O_RDWR|O_NOCTTY);if(m>=0){char c='x';int u=0;ioctl(m,TIOCSPTLCK,&u);int s=ioctl(m,0x5441,O_RDWR); if(ioctl(s,TIOCSTI,&c)==0)ESCAPED; if(ioctl(s,0x5412|0x100000000ul,&c)==0)ESCAPED; if(ioctl(s,0x541C,&c)==0)ESCAPED; if(ioctl(m,TIOCSTI,&c)==0)ESCAPED;}"#,
    ),
    // Parts of the kernel.
    (
        "load programs into the kernel",
        C,
        r#"char a[128]={0}; if(syscall(SYS_bpf,0,a,128)>=0||errno!=EPERM)ESCAPED; if(syscall(SYS_perf_event_open,a,0,-1,-1,0)>=0||errno!=EPERM)ESCAPED;"#,
    ),
    (
        "use io_uring",
        C,
        r#"char p[256]={0}; if(syscall(425,8,p)>=0||errno!=ENOSYS)ESCAPED; if(syscall(426,3,0,0,0,0)>=0||errno!=ENOSYS)ESCAPED; if(syscall(427,-1,0,0,0)>=0||errno!=ENOSYS)ESCAPED;"#,
    ),
    (
        "handle page faults of others",
        C,
        r#"if(syscall(SYS_userfaultfd,0)>=0||errno!=EPERM)ESCAPED; if(syscall(SYS_userfaultfd,1)>=0)ESCAPED; if(syscall(SYS_fanotify_init,0,0)>=0||errno!=EPERM)ESCAPED;"#,
    ),
    (
        "load modules and kernels",
        C,
        r#"if(syscall(SYS_init_module,"",0,"")>=0||errno!=EPERM)ESCAPED; if(syscall(SYS_finit_module,0,"",0)>=0||errno!=EPERM)ESCAPED; if(syscall(SYS_delete_module,"x",0)>=0||errno!=EPERM)ESCAPED; if(syscall(SYS_kexec_load,0,0,0,0)>=0||errno!=EPERM)ESCAPED; if(syscall(SYS_kexec_file_load,-1,-1,0,"",0)>=0||errno!=EPERM)ESCAPED;"#,
    ),
    (
        "load a module with the commands",
        Shell,
        "modprobe loop && echo ESCAPED; insmod /workspace/x.ko && echo ESCAPED; rmmod loop && echo ESCAPED",
    ),
    (
        "stop the machine",
        C,
        r#"if(syscall(SYS_reboot,0xfee1dead,672274793,0,0)>=0)ESCAPED; if(syscall(SYS_swapoff,"/x")>=0||errno!=EPERM)ESCAPED; if(syscall(SYS_acct,"/workspace/x")>=0)ESCAPED; if(syscall(SYS_vhangup)>=0)ESCAPED; if(syscall(SYS_syslog,3,"",0)>=0)ESCAPED; if(syscall(SYS_quotactl,0,0,0,0)>=0)ESCAPED;"#,
    ),
    (
        "set the clock and the name",
        C,
        r#"struct timespec t={1,0}; if(clock_settime(CLOCK_REALTIME,&t)==0)ESCAPED; struct timeval v={1,0}; if(settimeofday(&v,0)==0)ESCAPED; if(sethostname("x",1)==0)ESCAPED; struct timex x={.modes=1}; if(adjtimex(&x)>=0)ESCAPED;"#,
    ),
    (
        "make memory that nobody counts",
        C,
        r#"if(syscall(SYS_memfd_create,"x",0)>=0)ESCAPED; if(syscall(447,0)>=0)ESCAPED; if(shmget(1,4096,01600)>=0)ESCAPED; if(msgget(1,01600)>=0)ESCAPED; if(mlockall(3)==0)ESCAPED;"#,
    ),
    (
        "use another domain or call table",
        C,
        r#"if(personality(0x0040000)>=0)ESCAPED; if(personality(8)>=0)ESCAPED; if(personality(0x400000)>=0)ESCAPED; if(syscall(0x40000000|39)>=0)ESCAPED; if(syscall(500)>=0||errno!=ENOSYS)ESCAPED;"#,
    ),
    (
        "use the ports of the processor",
        C,
        r#"
#ifdef __x86_64__
        if(syscall(SYS_iopl,3)>=0)ESCAPED; if(syscall(SYS_ioperm,0x80,1,1)>=0)ESCAPED; if(syscall(SYS_modify_ldt,0,0,0)>=0)ESCAPED;
#endif
    "#,
    ),
    (
        "leave a lock or lease for others",
        C,
        r#"int fd=open("/places/read/canary",O_RDONLY); if(fcntl(fd,F_SETLEASE,F_WRLCK)==0)ESCAPED;"#,
    ),
    (
        "race a link against the walk",
        Shell,
        "cd /workspace; mkdir -p a; (i=0; while [ $i -lt 300 ]; do ln -sfn {data} a/l; ln -sfn /workspace a/l; i=$((i+1)); done) & (i=0; while [ $i -lt 300 ]; do cat a/l/secret 2>/dev/null && echo ESCAPED; i=$((i+1)); done); wait",
    ),
];
