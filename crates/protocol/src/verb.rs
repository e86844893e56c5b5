//! The closed list of what a host can be asked to make so. The text of this file
//! is also the catalog that people read: its comments are printed.

use crate::{GpuRef, Isolation, WorkloadRef, WorkloadSpec};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A verb as the catalog prints it.
pub struct VerbEntry {
    pub name: &'static str,
    pub doc: &'static [&'static str],
    pub fields: &'static [Field],
    /// How long a host may take; a task that takes longer fails with `timeout`.
    pub limit: Duration,
    pub result: &'static str,
    /// Codes with which it can fail, each with what it means.
    pub failures: &'static [(&'static str, &'static str)],
}

/// A field of a verb as the catalog prints it.
pub struct Field {
    pub name: &'static str,
    pub kind: &'static str,
    pub doc: &'static [&'static str],
}

macro_rules! verbs {
    ($(
        $(#[doc = $doc:literal])*
        $variant:ident as $name:literal {
            $( $(#[doc = $field_doc:literal])* $field:ident : $kind:ty ),* $(,)?
        } within $seconds:literal seconds gives $result:literal fails { $( $code:literal => $why:literal ),* $(,)? }
    )*) => {
        /// What must be so. Doing one twice is as good as doing it once.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "verb")]
        pub enum Verb { $(
            $(#[doc = $doc])*
            #[serde(rename = $name)]
            $variant { $( $(#[doc = $field_doc])* $field: $kind ),* },
        )* }

        impl Verb {
            /// Every verb, in the order of the catalog.
            pub const CATALOG: &'static [VerbEntry] = &[ $( VerbEntry {
                name: $name,
                doc: &[ $( $doc ),* ],
                fields: &[ $( Field { name: stringify!($field), kind: stringify!($kind), doc: &[ $( $field_doc ),* ] } ),* ],
                limit: Duration::from_secs($seconds),
                result: $result,
                failures: &[ $( ($code, $why) ),* ],
            } ),* ];

            /// The name on the wire and in the catalog.
            pub fn name(&self) -> &'static str {
                match self { $( Self::$variant { .. } => $name ),* }
            }

            /// How long a host may take.
            pub const fn limit(&self) -> Duration {
                match self { $( Self::$variant { .. } => Duration::from_secs($seconds) ),* }
            }
        }
    };
}

verbs! {
    /// The workload exists and holds exactly what its specification says; the host
    /// proves that the GPUs are there and that their driver answers. Nobody can enter
    /// it before everything is in place, nor after it failed.
    EnsureAllocation as "ensure_allocation" {
        /// What runs for the allocation.
        workload: WorkloadSpec,
    } within 120 seconds gives "proof" fails {
        "unsupported_workload" => "no workload of that kind and shape is registered on the host; the detail lists the registered ones",
        "bad_login" => "the user name or a key is not valid",
        "foreign_user" => "a user with that name exists and was not created by the agent",
        "missing_gpu" => "a GPU is missing, or is at another PCI address",
        "gpu_busy" => "processes of other users run on a GPU",
        "self_test" => "a GPU failed the self-test of its driver",
        "sshd" => "the host's own sshd would accept other keys for the login than the agent's",
        "user" => "the user could not be created",
        "uids_used_up" => "all user ids were used since the host was last sanitized; sanitize it",
        "control_group" => "the limits of the login could not be set",
        "keys" => "the keys could not be written; the login is locked",
        "gpu_access" => "the GPUs could not be assigned to the user",
    }

    /// A workload lets in exactly these keys; anyone with another key can no longer
    /// enter. Sessions that are open stay open.
    EnsureKeys as "ensure_keys" {
        /// What the keys open.
        workload: WorkloadRef,
        /// All of its public keys; none locks everybody out.
        keys: Vec<String>,
    } within 120 seconds gives "keys" fails {
        "unsupported_workload" => "no workload of that kind and shape is registered on the host",
        "bad_login" => "the user name or a key is not valid",
        "no_user" => "the user does not exist on this host",
        "foreign_user" => "the user was not created by the agent",
        "keys" => "the keys could not be written; the login is locked",
    }

    /// Nobody can enter the workload and nothing of it runs; its files stay. It starts
    /// again with `ensure_allocation`.
    EnsureStopped as "ensure_stopped" {
        /// What is stopped.
        workload: WorkloadRef,
        /// The GPUs on which processes are counted afterwards.
        gpus: Vec<GpuRef>,
    } within 120 seconds gives "evidence" fails {
        "unsupported_workload" => "no workload of that kind and shape is registered on the host",
        "bad_login" => "the user name is not valid",
        "foreign_user" => "the user was not created by the agent",
        "keys" => "the keys could not be removed",
        "processes_left" => "processes of the user are still running after SIGKILL",
        "gpu_access" => "access to the GPUs could not be revoked",
    }

    /// The workload, its processes, its files and what it left elsewhere are gone. The
    /// evidence counts what still runs on the GPUs. Succeeds where there was nothing.
    EnsureGone as "ensure_gone" {
        /// What is removed.
        workload: WorkloadRef,
        /// The GPUs on which processes are counted afterwards.
        gpus: Vec<GpuRef>,
        /// With `full_reimage` the host is cleaned as a whole afterwards; this verb
        /// still removes the workload first.
        isolation: Isolation,
    } within 120 seconds gives "evidence" fails {
        "unsupported_workload" => "no workload of that kind and shape is registered on the host",
        "bad_login" => "the user name is not valid",
        "foreign_user" => "the user was not created by the agent",
        "processes_left" => "processes of the user are still running after SIGKILL",
        "user" => "the user could not be removed",
        "home" => "the home or files elsewhere could not be removed",
        "control_group" => "the login's control group could not be removed",
        "gpu_access" => "access to the GPUs could not be revoked",
    }

    /// The wipe script that the operator set for this host has run to its end, and
    /// nothing of any workload was seen afterwards.
    EnsureSanitized as "ensure_sanitized" {
    } within 3600 seconds gives "evidence" fails {
        "no_wipe_script" => "no script is set in agent.toml; set one, or attest the wipe manually",
        "wipe_script" => "the script ended with an error or did not end in time",
        "not_clean" => "logins, their homes or processes, or processes on the GPUs were found after the script; the detail lists them",
    }

    /// The agent of that version runs. A new agent that does not reach the control
    /// plane in time is replaced by the one before, which reports `rolled_back`.
    EnsureAgent as "ensure_agent" {
        /// The version that must run.
        version: String,
        /// The platform that the binary is for.
        target: String,
        /// SHA-256 of the binary, in hexadecimal.
        sha256: String,
        /// Signature of version, target and checksum by a task key, in base64.
        signature: String,
    } within 600 seconds gives "updated" fails {
        "wrong_target" => "the binary is for another platform than this host",
        "bad_checksum" => "the download does not match the announced checksum",
        "bad_agent_signature" => "the binary is not signed by a task key",
        "download" => "the binary could not be downloaded",
        "install" => "the binary could not be installed",
        "rolled_back" => "the new agent did not reach the control plane and was replaced",
        "unsupported" => "this agent cannot replace itself",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    #[test]
    fn a_verb_travels_with_its_name_and_fields() {
        let workload = WorkloadRef::login(Shape::GpuSlice, "g1");
        let verb = Verb::EnsureKeys { workload, keys: vec!["ssh-ed25519 A".into()] };
        let text = serde_json::to_string(&verb).unwrap();
        let workload = r#"{"kind":"login","shape":"gpu_slice","user":"g1"}"#;
        assert_eq!(text, format!(r#"{{"verb":"ensure_keys","workload":{workload},"keys":["ssh-ed25519 A"]}}"#));
        assert_eq!(verb.name(), "ensure_keys");
        let nothing: Verb = serde_json::from_str(r#"{"verb":"ensure_sanitized"}"#).unwrap();
        assert_eq!(nothing, Verb::EnsureSanitized {});
    }

    #[test]
    fn an_unknown_verb_is_not_understood() {
        assert!(serde_json::from_str::<Verb>(r#"{"verb":"run_shell","command":"id"}"#).is_err());
    }

    #[test]
    fn every_verb_has_a_time_limit_that_its_catalog_entry_states() {
        let hour = Duration::from_secs(3600);
        for entry in Verb::CATALOG {
            assert!(entry.limit >= Duration::from_secs(30) && entry.limit <= hour, "{}", entry.name);
        }
        let entry = Verb::CATALOG.iter().find(|entry| entry.name == "ensure_sanitized").unwrap();
        assert_eq!(Verb::EnsureSanitized {}.limit(), entry.limit);
        assert_eq!(entry.limit, hour, "overwriting the disks of a host takes long");
    }
}
