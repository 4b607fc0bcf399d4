//! Small files of slots.
