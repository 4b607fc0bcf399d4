//! Gets a dropped model's memory back to the system, which glibc's defaults do not.
//!
//! Measured: without this 25 to 31 MB stay with the process after the model is dropped, growing
//! with every load; with it, 2 MB. Other allocators and systems have nothing to do here.

/// Lets every block of 1 MiB or more be a mapping of its own, which goes when it is freed, and all threads share two arenas.
///
/// Each arena keeps the peak memory of its threads: ten thousand wrong passwords, each checked in 19 MiB, left 97 MB behind.
/// glibc raises that limit to 32 MB as it sees large blocks come and go, so the second load would
/// put the weights into an arena, whose end `malloc_trim` does not reach. This holds for the whole
/// process and costs the model 4 % of its time.
pub fn map_large_allocations() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::map_large_allocations();
}

/// Returns freed memory to the system.
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::trim();
}

/// Lets go of the pages of the program that hold `bytes`. They are read from its file again when they are needed; without
/// this they stay counted as this process's until the system runs short.
pub fn release_pages(bytes: &'static [u8]) {
    #[cfg(target_os = "linux")]
    linux::release_pages(bytes);
}

/// Unmaps the program's code pages: startup code does not come back, the rest is mapped again from the page cache at its next
/// use. Returns some megabytes; costs some hundred page faults.
pub fn release_code_pages() {
    #[cfg(target_os = "linux")]
    linux::release_code_pages();
}

#[cfg(target_os = "linux")]
mod linux {
    /// The first and last address of each piece of this program's code, as the kernel lists them.
    fn code() -> Vec<(usize, usize)> {
        let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let pieces = maps.lines().filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let (range, rights) = (words.next()?, words.next()?);
            // Private and read-only: it holds only bytes of the file.
            if rights != "r-xp" || words.nth(3)? != program.to_str()? {
                return None;
            }
            let (first, last) = range.split_once('-')?;
            Some((usize::from_str_radix(first, 16).ok()?, usize::from_str_radix(last, 16).ok()?))
        });
        pieces.collect()
    }

    #[allow(unsafe_code)]
    pub fn release_code_pages() {
        for (first, last) in code() {
            // SAFETY: the range is a mapping of this program's file that cannot be written, so what is mapped again is
            // what was there before; the kernel does that also for the code that runs now.
            unsafe { libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_DONTNEED) };
        }
    }

    #[allow(unsafe_code)]
    pub fn release_pages(bytes: &'static [u8]) {
        // SAFETY: sysconf takes no pointer.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0);
        if page == 0 {
            return;
        }
        let (start, end) = (bytes.as_ptr() as usize, bytes.as_ptr() as usize + bytes.len());
        // Whole pages only: the first and last page may hold other data.
        let (first, last) = (start.div_ceil(page) * page, end / page * page);
        if first < last {
            // SAFETY: the pages are within `bytes`, a constant of the program without addresses in it: nothing was ever
            // written there, so what is read again from the file is what was there before.
            unsafe { libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_DONTNEED) };
        }
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::sync::Once;

    #[allow(unsafe_code)]
    pub fn map_large_allocations() {
        static ONCE: Once = Once::new();
        // SAFETY: mallopt takes no pointer. It writes two words of glibc's settings under the main
        // arena's lock; other threads read them without one, as they do when `free` raises the
        // same limit. Either value is right for a block: its header says how it was allocated.
        ONCE.call_once(|| unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20);
            libc::mallopt(libc::M_ARENA_MAX, 2);
        });
    }

    #[allow(unsafe_code)]
    pub fn trim() {
        // SAFETY: malloc_trim takes no pointer, touches only free memory, and locks each arena it
        // looks at, so any thread may call it at any time.
        unsafe { libc::malloc_trim(0) };
    }
}
