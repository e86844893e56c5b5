//! What a host can run for an allocation: the closed list of workloads, the typed
//! specification of each, and how later tasks and streams refer to one.

use crate::{Field, GpuRef, Login, WantedLimits};
use serde::{Deserialize, Serialize};
use shapes::Shape;

/// A workload as the catalog prints it.
pub struct WorkloadEntry {
    pub name: &'static str,
    pub doc: &'static [&'static str],
    /// Fields of the specification.
    pub specification: &'static [Field],
    /// Fields of a reference.
    pub reference: &'static [Field],
}

/// All that a host needs to make one workload.
pub trait Specification: Clone + Send + Sync + 'static {
    const KIND: WorkloadKind;
    type Reference: Reference;

    /// None: the specification is for another workload.
    fn of(spec: &WorkloadSpec) -> Option<&Self>;
    /// How later tasks name what this makes.
    fn reference(&self) -> Self::Reference;
}

/// The name of one workload on one host.
pub trait Reference: Clone + Send + Sync + 'static {
    /// None: the reference is to another workload.
    fn of(reference: &WorkloadRef) -> Option<&Self>;
}

macro_rules! workloads {
    ($(
        $(#[doc = $doc:literal])*
        $variant:ident as $name:literal {
            specification $spec:ident {
                $( $(#[doc = $spec_doc:literal])* $spec_field:ident : $spec_kind:ty ),* $(,)?
            }
            reference $reference:ident {
                $( $(#[doc = $ref_doc:literal])* $ref_field:ident : $ref_kind:ty = |$from:ident| $value:expr ),* $(,)?
            }
        }
    )*) => {
        /// Which workload of a host a task is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum WorkloadKind { $( $(#[doc = $doc])* $variant ),* }

        /// All that a host needs to make a workload; which one, is part of it.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum WorkloadSpec { $( $(#[doc = $doc])* #[serde(rename = $name)] $variant($spec) ),* }

        /// A workload that exists on a host, or that must not.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum WorkloadRef { $( $(#[doc = $doc])* #[serde(rename = $name)] $variant($reference) ),* }

        impl WorkloadKind {
            pub const ALL: &'static [Self] = &[ $( Self::$variant ),* ];

            /// Every workload, in the order of the catalog.
            pub const CATALOG: &'static [WorkloadEntry] = &[ $( WorkloadEntry {
                name: $name,
                doc: &[ $( $doc ),* ],
                specification: &[
                    Field { name: "shape", kind: "Shape", doc: &["What the allocation gets of the host."] },
                    $( Field { name: stringify!($spec_field), kind: stringify!($spec_kind), doc: &[ $( $spec_doc ),* ] } ),*
                ],
                reference: &[
                    Field { name: "shape", kind: "Shape", doc: &["As in the specification."] },
                    $( Field { name: stringify!($ref_field), kind: stringify!($ref_kind), doc: &[ $( $ref_doc ),* ] } ),*
                ],
            } ),* ];

            /// The name on the wire and in the catalog.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name ),* }
            }
        }

        impl WorkloadSpec {
            pub fn kind(&self) -> WorkloadKind {
                match self { $( Self::$variant(_) => WorkloadKind::$variant ),* }
            }

            pub fn shape(&self) -> Shape {
                match self { $( Self::$variant(spec) => spec.shape ),* }
            }

            pub fn reference(&self) -> WorkloadRef {
                match self { $( Self::$variant(spec) => WorkloadRef::$variant(Specification::reference(spec)) ),* }
            }
        }

        impl WorkloadRef {
            pub fn kind(&self) -> WorkloadKind {
                match self { $( Self::$variant(_) => WorkloadKind::$variant ),* }
            }

            pub fn shape(&self) -> Shape {
                match self { $( Self::$variant(reference) => reference.shape ),* }
            }
        }

        $(
            $(#[doc = $doc])*
            #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub struct $spec {
                /// What the allocation gets of the host.
                pub shape: Shape,
                $( $(#[doc = $spec_doc])* pub $spec_field: $spec_kind ),*
            }

            #[doc = concat!("Refers to a workload of the kind `", $name, "`.")]
            #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub struct $reference {
                /// As in the specification.
                pub shape: Shape,
                $( $(#[doc = $ref_doc])* pub $ref_field: $ref_kind ),*
            }

            impl Specification for $spec {
                const KIND: WorkloadKind = WorkloadKind::$variant;
                type Reference = $reference;

                fn of(spec: &WorkloadSpec) -> Option<&Self> {
                    #[allow(unreachable_patterns, reason = "one workload needs no second arm")]
                    match spec { WorkloadSpec::$variant(spec) => Some(spec), _ => None }
                }

                fn reference(&self) -> $reference {
                    $reference { shape: self.shape, $( $ref_field: { let $from = self; $value } ),* }
                }
            }

            impl Reference for $reference {
                fn of(reference: &WorkloadRef) -> Option<&Self> {
                    #[allow(unreachable_patterns, reason = "one workload needs no second arm")]
                    match reference { WorkloadRef::$variant(reference) => Some(reference), _ => None }
                }
            }
        )*
    };
}

workloads! {
    /// A user of the host that logs in with SSH keys and holds GPUs.
    Login as "login" {
        specification LoginSpec {
            /// The GPUs that belong to the login, by UUID and PCI address.
            gpus: Vec<GpuRef>,
            /// The user and the public keys with which it may log in.
            login: Login,
            /// Whether the driver tests the GPUs before they are handed over.
            self_test: bool,
            /// How much of the host it may use; its part of the host's GPUs when not said.
            limits: Option<WantedLimits>,
        }
        reference LoginRef {
            /// The user of the login.
            user: String = |spec| spec.login.user.clone(),
        }
    }
}

impl WorkloadRef {
    /// The login of that user.
    pub fn login(shape: Shape, user: impl Into<String>) -> Self {
        Self::Login(LoginRef { shape, user: user.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login() -> WorkloadSpec {
        let login = Login { user: "g1".into(), keys: vec![] };
        WorkloadSpec::Login(LoginSpec { shape: Shape::GpuSlice, gpus: vec![], login, self_test: true, limits: None })
    }

    #[test]
    fn specification_travels_with_its_kind_and_shape_and_gives_its_reference() {
        let spec = login();
        let text = serde_json::to_string(&spec).unwrap();
        assert!(text.starts_with(r#"{"kind":"login","shape":"gpu_slice","#), "{text}");
        assert_eq!(serde_json::from_str::<WorkloadSpec>(&text).unwrap(), spec);
        let reference = spec.reference();
        assert_eq!(reference, WorkloadRef::login(Shape::GpuSlice, "g1"));
        assert_eq!((reference.kind(), reference.shape()), (spec.kind(), spec.shape()));
        let text = serde_json::to_string(&reference).unwrap();
        assert_eq!(text, r#"{"kind":"login","shape":"gpu_slice","user":"g1"}"#);
    }

    #[test]
    fn unknown_kind_and_unknown_field_are_refused() {
        for text in [
            r#"{"kind":"volume","shape":"gpu_slice","user":"g1"}"#,
            r#"{"kind":"login","shape":"gpu_slice","user":"g1","home":"/"}"#,
            r#"{"kind":"login","user":"g1"}"#,
        ] {
            assert!(serde_json::from_str::<WorkloadRef>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn catalog_lists_every_kind_with_documented_fields() {
        let names: Vec<&str> = WorkloadKind::CATALOG.iter().map(|entry| entry.name).collect();
        assert_eq!(names, WorkloadKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>());
        for field in WorkloadKind::CATALOG.iter().flat_map(|it| it.specification.iter().chain(it.reference)) {
            assert!(!field.doc.is_empty(), "{}", field.name);
        }
    }
}
