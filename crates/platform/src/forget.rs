//! What makes something a cache: it can be told to forget. Which events make it
//! stale is registered; who tells it is `caches`.

/// Something that this process caches, and that events make stale. `register` of its
/// folder names it, and the nouns of those events.
pub trait Forget: Send + Sync {
    /// Reads it again before, or soon after, it is used again.
    fn forget(&self);
}
