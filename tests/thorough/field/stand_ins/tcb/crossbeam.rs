//! Stands in for crossbeam.
pub mod crossbeam_channel {
    pub use std::sync::mpsc::{channel as unbounded, sync_channel as bounded};
}
