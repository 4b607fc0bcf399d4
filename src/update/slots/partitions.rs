//! Images in partitions, shared by the two kinds of slots that boot a whole system.
