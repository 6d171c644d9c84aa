//! Stands in for bincode.
pub fn deserialize<T: for<'a> From<&'a [u8]>>(bytes: &[u8]) -> Result<T, ()> {
    Ok(bytes.into())
}
