//! Recordings in a bucket: kept, proven, read and deleted there, and waiting on
//! the gateway's disk while the bucket is away or refuses.

use std::time::Duration;

use contract::{
    Nothing, Role,
    id::RecordingId,
    recordings::{
        DownloadRecording, GetRecording, ListRecordings, Recording, RecordingFilter, RecordingPart, RecordingState,
        VerifyRecording,
    },
};
use testkit::{
    Bucket,
    bucket::SECRET_KEY,
    server::eventually,
    shell::{End, Shell},
    world::set_policy,
};

use crate::sessions::stand::{Stand, code};

const UNBOUNDED: u64 = 4 << 30;

impl Stand {
    async fn in_a_bucket(bucket: &Bucket, spool_bytes: u64) -> Stand {
        let stand = Stand::with(|config| bucket.configure(config), spool_bytes).await;
        set_policy(stand.operator(), "access.recording", "on").await;
        stand
    }

    async fn sealed(&self) -> Recording {
        eventually("the recording to be sealed", || async {
            self.recordings().await.iter().any(|it| it.state == RecordingState::Sealed)
        })
        .await;
        let sealed = self.recordings().await.into_iter().filter(|it| it.state == RecordingState::Sealed);
        // Those who came before their host have an empty one.
        sealed.max_by_key(|it| it.size_bytes).expect("it is sealed")
    }

    async fn cast(&self, id: RecordingId) -> String {
        let client = &self.tenant.client;
        let cast = client.call::<DownloadRecording>(self.recording(id), RecordingPart::default(), Nothing {}).await;
        String::from_utf8(cast.unwrap().bytes).unwrap()
    }
}

async fn leaves(mut shell: Shell) {
    shell.types("exit 0\r").await;
    assert_eq!(shell.ends().await, End::Exit(0));
}

/// How often the store did not take a piece, in this process.
fn failures(reason: &str) -> u64 {
    let wanted = format!("gpuaas_recording_store_failures_total{{reason=\"{reason}\"}} ");
    let page = platform::telemetry::metrics_page();
    page.lines().find_map(|it| it.strip_prefix(&wanted)?.trim().parse().ok()).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_keeps_what_was_recorded_until_retention_deletes_it() {
    let bucket = Bucket::start().await;
    let stand = Stand::in_a_bucket(&bucket, UNBOUNDED).await;
    set_policy(stand.operator(), "access.recording_days", "1").await;
    let (_, mut shell) = stand.tenant.shell(stand.allocation).await;
    assert!(shell.runs("echo kept-$((40 + 2))").await.contains("kept-42"));
    leaves(shell).await;
    let id = stand.sealed().await.id;
    let client = &stand.tenant.client;
    let proof = client.call::<VerifyRecording>(stand.recording(id), Nothing {}, Nothing {}).await.unwrap();
    assert!(proof.is_intact, "{proof:?}");
    assert!(stand.cast(id).await.contains("kept-42"));
    let below = format!("kept/{id}/");
    let pieces: Vec<String> = bucket.keys().await.into_iter().filter(|it| it.starts_with(&below)).collect();
    assert_eq!(pieces.len(), proof.pieces as usize, "every piece is in the bucket, below its own name: {pieces:?}");
    assert_eq!(stand.waiting_bytes(), 0, "nothing is left on the gateway's disk");

    bucket.alter(&pieces[0]).await;
    let proof = client.call::<VerifyRecording>(stand.recording(id), Nothing {}, Nothing {}).await.unwrap();
    assert!(!proof.is_intact && proof.problems[0].contains("was altered"), "{proof:?}");

    stand.cloud.fleet.advance(Duration::from_secs(2 * 86_400));
    // What people were known by two days ago has expired.
    let owner = stand.cloud.world().member_of(stand.id(), Role::Owner).await;
    let client = stand.cloud.world().as_(&owner);
    eventually("the recording to be deleted", || async {
        let filter = RecordingFilter { state: Some(RecordingState::Deleted), ..RecordingFilter::default() };
        let page = client.call::<ListRecordings>(stand.organization(), filter, Nothing {}).await.unwrap();
        page.items.iter().any(|it| it.id == id)
    })
    .await;
    assert!(!bucket.keys().await.iter().any(|it| it.starts_with(&below)), "nothing of it is left in the bucket");
    println!("{} pieces were stored, proven, read and deleted; an altered one was found", pieces.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn recording_that_a_bucket_refuses_waits_and_arrives_when_its_keys_are_right() {
    let mut bucket = Bucket::not_yet().await;
    bucket.come_back("another key").await;
    let stand = Stand::in_a_bucket(&bucket, UNBOUNDED).await;
    let before = failures("refused");
    let (_, mut shell) = stand.tenant.shell(stand.allocation).await;
    assert!(shell.runs("echo patient-$((40 + 2))").await.contains("patient-42"), "nobody at the shell notices");
    leaves(shell).await;
    eventually("the refusal to be counted", || async { failures("refused") > before }).await;
    assert!(stand.waiting_bytes() > 0 && bucket.keys().await.is_empty());
    let unsealed = stand.recordings().await;
    assert!(unsealed.iter().all(|it| it.state == RecordingState::Recording), "{unsealed:?}");

    bucket.go_away().await;
    bucket.come_back(SECRET_KEY).await;
    let id = stand.sealed().await.id;
    let client = &stand.tenant.client;
    let proof = client.call::<VerifyRecording>(stand.recording(id), Nothing {}, Nothing {}).await.unwrap();
    assert!(proof.is_intact, "{proof:?}");
    assert!(stand.cast(id).await.contains("patient-42"));
    println!("{} refusals later {} pieces came through", failures("refused") - before, proof.pieces);

    // Somebody changes the keys at the store: readers are told whose business that is.
    bucket.go_away().await;
    let part = RecordingPart::default();
    let away = client.call::<DownloadRecording>(stand.recording(id), part.clone(), Nothing {}).await.unwrap_err();
    assert!(away.to_string().contains("the recording store does not respond"), "{away}");
    assert_eq!(code(away), "unavailable");
    bucket.come_back("another key").await;
    let refused = client.call::<DownloadRecording>(stand.recording(id), part, Nothing {}).await.unwrap_err();
    assert!(refused.to_string().contains("an operator must check its keys"), "{refused}");
    assert!(!refused.to_string().contains(SECRET_KEY));
    assert_eq!(code(refused), "unavailable");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_bucket_is_away_the_disk_is_bounded_and_nothing_is_lost() {
    const BOUND: u64 = 512 * 1024;
    // A piece that is being written, and what the host may send before it hears to stop.
    const SLACK: u64 = 2 * 1024 * 1024;
    let mut bucket = Bucket::not_yet().await;
    let stand = Stand::in_a_bucket(&bucket, BOUND).await;
    let (_, mut shell) = stand.tenant.shell(stand.allocation).await;
    shell.types("stty -echo; head -c 6000000 /dev/urandom | base64; echo \"no\"thing-lost\r").await;
    let before = failures("away");
    {
        // It reads as it comes: what stands still does so because of the disk.
        let flood = async { while shell.read().await.is_none() && !shell.text.contains("nothing-lost") {} };
        assert!(tokio::time::timeout(Duration::from_secs(8), flood).await.is_err(), "the shell stands still");
    }
    let waiting = stand.waiting_bytes();
    assert!((BOUND..BOUND + SLACK).contains(&waiting), "{waiting} bytes wait");
    assert!(failures("away") > before);
    bucket.come_back(SECRET_KEY).await;
    shell.shows("nothing-lost").await;
    leaves(shell).await;
    let id = stand.sealed().await.id;
    let client = &stand.tenant.client;
    let detail = client.call::<GetRecording>(stand.recording(id), Nothing {}, Nothing {}).await.unwrap();
    assert!(detail.gaps.is_empty(), "{detail:?}");
    let proof = client.call::<VerifyRecording>(stand.recording(id), Nothing {}, Nothing {}).await.unwrap();
    assert!(proof.is_intact, "{proof:?}");
    assert!(stand.cast(id).await.contains("nothing-lost"));
    println!("{waiting} bytes waited on disk at most; {} pieces came through afterwards", proof.pieces);
}
