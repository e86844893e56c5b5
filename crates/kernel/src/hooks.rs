//! Calls from a lower area to a higher one, in the caller's transaction. The
//! lower area declares a trait for what must happen at once and cannot wait for
//! an event; the higher one implements it; the program connects both when it starts.

use std::{
    any::{Any, TypeId, type_name},
    collections::HashMap,
    sync::Arc,
};

/// The implementation of each hook, by its trait.
#[derive(Clone, Default)]
pub struct Hooks(Arc<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Hooks {
    /// Adds the implementation of `T`, a trait object such as `dyn Occupants`.
    #[must_use]
    pub fn with<T: ?Sized + Send + Sync + 'static>(self, hook: Arc<T>) -> Self {
        let mut all = (*self.0).clone();
        all.insert(TypeId::of::<T>(), Arc::new(hook));
        Self(Arc::new(all))
    }

    /// The implementation of `T`.
    ///
    /// # Panics
    /// When the program connected none, which a test of the program finds.
    pub fn get<T: ?Sized + Send + Sync + 'static>(&self) -> Arc<T> {
        self.find()
            .unwrap_or_else(|| panic!("connect an implementation of {} when the program starts", type_name::<T>()))
    }

    pub fn find<T: ?Sized + Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref::<Arc<T>>().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    trait Greets: Send + Sync {
        fn greeting(&self) -> &'static str;
    }
    trait Leaves: Send + Sync {}
    struct Politely;
    impl Greets for Politely {
        fn greeting(&self) -> &'static str {
            "good morning"
        }
    }

    #[test]
    fn hook_is_found_by_its_trait_and_no_other() {
        let hooks = Hooks::default().with::<dyn Greets>(Arc::new(Politely));
        assert_eq!(hooks.get::<dyn Greets>().greeting(), "good morning");
        assert!(hooks.find::<dyn Leaves>().is_none());
    }
}
