//! Tools for what is in the home.
