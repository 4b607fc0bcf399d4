//! Partitions chosen by the Raspberry Pi firmware: `autoboot.txt`, and a reboot with the argument `0 tryboot`.
