//! What was shown is kept, sealed, verified and downloaded.

use contract::{
    Nothing, Role, Within,
    access_tickets::TicketKind,
    id::RecordingId,
    recordings::{
        DownloadRecording, GetRecording, ListRecordings, RecordingFilter, RecordingPart, RecordingPath, RecordingState,
        VerifyRecording,
    },
};
use testkit::{
    gateway::{Ending, Terminal},
    server::eventually,
    world::set_policy,
};

use crate::sessions::stand::{Stand, code, terminal};

impl Stand {
    pub fn recording(&self, id: RecordingId) -> RecordingPath {
        RecordingPath { organization_id: self.id(), recording_id: id }
    }

    pub async fn recordings(&self) -> Vec<contract::recordings::Recording> {
        let filter = RecordingFilter { allocation_id: Some(self.allocation), ..RecordingFilter::default() };
        self.tenant.client.call::<ListRecordings>(self.organization(), filter, Nothing {}).await.unwrap().items
    }
}

/// How what is compressed begins.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

fn zstd_free(bytes: &[u8]) -> bool {
    !bytes.windows(ZSTD.len()).any(|it| it == ZSTD)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_session_is_sealed_verified_and_downloaded() {
    let stand = Stand::new().await;
    set_policy(stand.operator(), "access.recording", "on").await;
    let ticket = stand.ticket(terminal()).await;
    let mut shell = Terminal::open(stand.gateway.public, ticket.ticket.expose()).await;
    shell.type_in("echo first-$((1 + 1))\n").await;
    assert!(shell.prints("first-2").await);
    let seen = shell.seen;
    drop(shell);
    let mut spec = terminal();
    spec.resume = Some(ticket.session_id);
    let again = stand.ticket(spec).await;
    let mut shell = Terminal::come_back(stand.gateway.public, again.ticket.expose(), seen).await;
    shell.type_in("echo second-$((1 + 2)); exit 0\n").await;
    assert_eq!(shell.ends().await, Ending::Exit(0));
    eventually("the recording to be sealed", || async {
        stand.recordings().await.iter().any(|it| it.state == RecordingState::Sealed)
    })
    .await;
    let [recording] = &stand.recordings().await[..] else { panic!("one recording") };
    let client = &stand.tenant.client;
    let path = stand.recording(recording.id);
    let detail = client.call::<GetRecording>(path.clone(), Nothing {}, Nothing {}).await.unwrap();
    assert_eq!(detail.segments.len(), 2, "{detail:?}");
    assert!(detail.gaps.is_empty() && detail.segments.iter().all(|it| it.is_complete), "{detail:?}");
    let proof = client.call::<VerifyRecording>(path.clone(), Nothing {}, Nothing {}).await.unwrap();
    assert!(proof.is_intact && Some(&proof.root) == recording.root.as_ref(), "{proof:?}");
    let part = RecordingPart::default();
    let cast = client.call::<DownloadRecording>(path.clone(), part, Nothing {}).await.unwrap();
    let text = String::from_utf8(cast.bytes).unwrap();
    assert!(text.starts_with('{') && text.contains("first-2") && text.contains("second-3"), "{text}");
    assert_eq!(text.lines().filter(|it| it.starts_with('{')).count(), 1, "one header");
    let times: Vec<f64> =
        text.lines().skip(1).map(|it| serde_json::from_str::<(f64, String, String)>(it).unwrap().0).collect();
    assert!(times.is_sorted(), "{times:?}");
    println!("{} pieces, root {}, {} lines", proof.pieces, proof.root, text.lines().count());
    let file = std::fs::read_dir(stand.recordings_folder().join(recording.id.to_string()).join("0")).unwrap();
    let file = file.map(|it| it.unwrap().path()).next().unwrap();
    let at_rest = std::fs::read(&file).unwrap();
    assert!(!at_rest.starts_with(&ZSTD), "whoever reads the disk sees what was shown");
    assert!(zstd_free(&at_rest), "nor further inside");
    std::fs::write(file, b"altered").unwrap();
    let proof = client.call::<VerifyRecording>(path, Nothing {}, Nothing {}).await.unwrap();
    assert!(!proof.is_intact && proof.problems[0].contains("was altered"), "{proof:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn required_recording_cannot_be_bypassed() {
    let stand = Stand::new().await;
    set_policy(stand.operator(), "access.recording", "required").await;
    for kind in [TicketKind::Tcp, TicketKind::Http] {
        let mut spec = terminal();
        (spec.kind, spec.port) = (kind, Some(Within::new(8888).unwrap()));
        let refused = stand.try_ticket(&stand.tenant.client, spec).await.unwrap_err();
        assert_eq!(code(refused), "access_refused", "{kind}");
    }
    let ticket = stand.ticket(terminal()).await;
    let mut shell = Terminal::open(stand.gateway.public, ticket.ticket.expose()).await;
    shell.type_in("echo seen\n").await;
    assert!(shell.prints("seen").await);
    assert_eq!(stand.recordings().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn retention_and_nothing_else_deletes_a_recording() {
    let stand = Stand::new().await;
    set_policy(stand.operator(), "access.recording", "on").await;
    set_policy(stand.operator(), "access.recording_days", "1").await;
    let ticket = stand.ticket(terminal()).await;
    let mut shell = Terminal::open(stand.gateway.public, ticket.ticket.expose()).await;
    shell.type_in("exit 0\n").await;
    assert_eq!(shell.ends().await, Ending::Exit(0));
    eventually("the recording to be sealed", || async {
        stand.recordings().await.iter().any(|it| it.state == RecordingState::Sealed)
    })
    .await;
    let id = stand.recordings().await[0].id;
    assert!(stand.recordings_folder().join(id.to_string()).exists());
    // A visit that the clock jumps over would look again a day after the jump.
    eventually("nobody to look at it", || async {
        let mut above = stand.cloud.world().server.database.superuser().await;
        let rests = "SELECT lease_until IS NULL AND due_at > app_now() FROM work WHERE kind = 'recording' AND id = $1";
        sqlx::query_scalar(rests).bind(id.uuid()).fetch_optional(&mut above).await.unwrap().unwrap_or(false)
    })
    .await;
    stand.cloud.fleet.advance(std::time::Duration::from_secs(2 * 86_400));
    // What people were known by two days ago has expired.
    let owner = stand.cloud.world().member_of(stand.id(), Role::Owner).await;
    let client = stand.cloud.world().as_(&owner);
    eventually("the recording to be deleted", || async {
        let filter = RecordingFilter { state: Some(RecordingState::Deleted), ..RecordingFilter::default() };
        let page = client.call::<ListRecordings>(stand.organization(), filter, Nothing {}).await.unwrap();
        page.items.iter().any(|it| it.id == id)
    })
    .await;
    assert!(!stand.recordings_folder().join(id.to_string()).exists(), "nothing of it is left in the store");
}
