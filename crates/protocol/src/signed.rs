//! A task as it travels: canonical bytes, who signed them, and the signature. What
//! does not verify is never looked at.

use crate::canonical::{self, EncodeError};
use crate::limits::MAX_TASK_BYTES;
use crate::{Refusal, SigningKey, Task, TaskKey, is_supported};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};

const CONTEXT: &[u8] = b"gpuaas-task-v1\0";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedTask {
    pub key_id: String,
    /// The canonical JSON of the task, in base64.
    pub payload: String,
    /// Ed25519 over the context and the payload's bytes, in base64.
    pub signature: String,
}

/// Read before the task itself: a later version may have another form.
#[derive(Deserialize)]
struct Envelope {
    protocol: u16,
}

impl SignedTask {
    pub fn sign(task: &Task, key: &SigningKey) -> Result<Self, EncodeError> {
        let bytes = canonical::encode(task)?;
        Ok(Self {
            key_id: key.id().to_owned(),
            signature: key.sign(&message(&bytes)),
            payload: BASE64_STANDARD.encode(bytes),
        })
    }

    /// The task, if one of the keys signed exactly these bytes and they are the
    /// task's only form.
    pub fn verify(&self, keys: &[TaskKey]) -> Result<Task, Refusal> {
        let key = keys.iter().find(|key| key.id == self.key_id).ok_or(Refusal::UnknownKey)?;
        if self.payload.len() > MAX_TASK_BYTES {
            return Err(Refusal::Malformed);
        }
        let bytes = BASE64_STANDARD.decode(&self.payload).map_err(|_| Refusal::Malformed)?;
        let signature = BASE64_STANDARD.decode(&self.signature).map_err(|_| Refusal::BadSignature)?;
        if !key.signed(&message(&bytes), &signature) {
            return Err(Refusal::BadSignature);
        }
        let envelope: Envelope = serde_json::from_slice(&bytes).map_err(|_| Refusal::Malformed)?;
        if !is_supported(envelope.protocol) {
            return Err(Refusal::WrongProtocol);
        }
        let task: Task = serde_json::from_slice(&bytes).map_err(|_| Refusal::Malformed)?;
        let is_canonical = canonical::encode(&task).is_ok_and(|again| again == bytes);
        if is_canonical { Ok(task) } else { Err(Refusal::Malformed) }
    }
}

fn message(payload: &[u8]) -> Vec<u8> {
    [CONTEXT, payload].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GpuRef, Isolation, Login, LoginSpec, Shape, Verb, WorkloadRef, WorkloadSpec};
    use jiff::{SignedDuration, Timestamp};
    use proptest::prelude::*;

    fn key(byte: u8) -> SigningKey {
        SigningKey::from_seed(&[byte; 32]).unwrap()
    }

    fn task(verb: Verb) -> Task {
        let issued: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        Task::new("node-1", "allocation-1", (1, 7), (issued, issued + SignedDuration::from_mins(5)), verb)
    }

    fn signed_text(text: &str) -> SignedTask {
        let key = key(1);
        SignedTask {
            key_id: key.id().to_owned(),
            signature: key.sign(&message(text.as_bytes())),
            payload: BASE64_STANDARD.encode(text),
        }
    }

    fn canonical_text() -> String {
        String::from_utf8(canonical::encode(&task(Verb::EnsureSanitized {})).unwrap()).unwrap()
    }

    #[test]
    fn a_signed_task_is_read_back() {
        let task = task(Verb::EnsureKeys { workload: WorkloadRef::login(Shape::GpuSlice, "g1"), keys: vec![] });
        let signed = SignedTask::sign(&task, &key(1)).unwrap();
        assert_eq!(signed.verify(&[key(2).public(), key(1).public()]), Ok(task));
    }

    #[test]
    fn a_tampered_task_is_refused() {
        let signed = SignedTask::sign(&task(Verb::EnsureSanitized {}), &key(1)).unwrap();
        let bytes = BASE64_STANDARD.decode(&signed.payload).unwrap();
        let text = String::from_utf8(bytes).unwrap().replace("node-1", "node-2");
        let tampered = SignedTask { payload: BASE64_STANDARD.encode(text), ..signed.clone() };
        assert_eq!(tampered.verify(&[key(1).public()]), Err(Refusal::BadSignature));
        let unsigned = SignedTask { signature: String::new(), ..signed };
        assert_eq!(unsigned.verify(&[key(1).public()]), Err(Refusal::BadSignature));
    }

    #[test]
    fn another_key_is_refused_even_under_a_known_name() {
        let task = task(Verb::EnsureSanitized {});
        let signed = SignedTask::sign(&task, &key(2)).unwrap();
        assert_eq!(signed.verify(&[key(1).public()]), Err(Refusal::UnknownKey));
        let renamed = SignedTask { key_id: key(1).id().to_owned(), ..signed };
        assert_eq!(renamed.verify(&[key(1).public()]), Err(Refusal::BadSignature));
    }

    #[test]
    fn a_signature_of_something_else_is_no_task_signature() {
        let text = canonical_text();
        let key = key(1);
        let signed = SignedTask {
            key_id: key.id().to_owned(),
            signature: key.sign(text.as_bytes()),
            payload: BASE64_STANDARD.encode(&text),
        };
        assert_eq!(signed.verify(&[key.public()]), Err(Refusal::BadSignature));
    }

    #[test]
    fn task_that_is_not_in_canonical_form_is_refused() {
        let text = canonical_text();
        let keys = [key(1).public()];
        assert!(signed_text(&text).verify(&keys).is_ok());
        let spaced = text.replace("\":", "\": ");
        let widened = text.replacen('{', "{\"also\":1,", 1);
        let doubled = text.replacen('{', "{\"epoch\":1,", 1);
        let late = text.replace("2026-01-02T03:04:05Z", "2026-01-02T03:04:05+00:00");
        for other in [spaced, widened, doubled, late, "[]".to_owned(), String::new()] {
            assert_eq!(signed_text(&other).verify(&keys), Err(Refusal::Malformed), "{other}");
        }
        let not_base64 = SignedTask { payload: "%%".into(), ..signed_text(&text) };
        assert_eq!(not_base64.verify(&keys), Err(Refusal::Malformed));
    }

    #[test]
    fn an_unknown_verb_is_malformed_and_a_later_version_is_named_as_such() {
        let keys = [key(1).public()];
        let unknown = canonical_text().replace("ensure_sanitized", "run_shell");
        assert_eq!(signed_text(&unknown).verify(&keys), Err(Refusal::Malformed));
        let later = canonical_text().replace("\"protocol\":1", "\"protocol\":9");
        assert_eq!(signed_text(&later).verify(&keys), Err(Refusal::WrongProtocol));
    }

    #[test]
    fn an_oversized_payload_is_refused_unread() {
        let large = SignedTask { payload: "A".repeat(MAX_TASK_BYTES + 1), ..signed_text("{}") };
        assert_eq!(large.verify(&[key(1).public()]), Err(Refusal::Malformed));
    }

    fn any_verb() -> impl Strategy<Value = Verb> {
        let gpu = (any::<String>(), any::<String>()).prop_map(|(uuid, pci)| GpuRef { uuid, pci });
        let gpus = prop::collection::vec(gpu, 0..4);
        let keys = prop::collection::vec(any::<String>(), 0..4);
        let named = |user: String| WorkloadRef::login(Shape::GpuSlice, user);
        prop_oneof![
            (gpus.clone(), any::<String>(), keys.clone(), any::<bool>()).prop_map(|(gpus, user, keys, self_test)| {
                let login = Login { user, keys };
                let spec = LoginSpec { shape: Shape::GpuSlice, gpus, login, self_test, limits: None };
                Verb::EnsureAllocation { workload: WorkloadSpec::Login(spec) }
            }),
            (any::<String>(), keys).prop_map(move |(user, keys)| Verb::EnsureKeys { workload: named(user), keys }),
            (any::<String>(), gpus).prop_map(move |(user, gpus)| Verb::EnsureGone {
                workload: named(user),
                gpus,
                isolation: Isolation::FullReimage
            }),
        ]
    }

    proptest! {
        #[test]
        fn every_task_survives_its_journey(
            verb in any_verb(), node in any::<String>(), version in any::<i64>(), second in 0..4_000_000_000_i64,
        ) {
            let mut sent = task(verb);
            sent.node = node;
            sent.version = version;
            sent.issued_at = Timestamp::from_second(second).unwrap();
            let signed = SignedTask::sign(&sent, &key(1)).unwrap();
            let read = signed.verify(&[key(1).public()]).unwrap();
            prop_assert_eq!(canonical::encode(&read).unwrap(), canonical::encode(&sent).unwrap());
            prop_assert_eq!(read, sent);
        }
    }
}
