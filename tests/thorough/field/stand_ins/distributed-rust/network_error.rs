//! Nothing of it is needed.
