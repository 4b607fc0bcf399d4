//! Tests of whole calls.
