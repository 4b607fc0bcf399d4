//! Partitions chosen by U-Boot: `slot.env` on the selector partition has `active=` and `try=`.
