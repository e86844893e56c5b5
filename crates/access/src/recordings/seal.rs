//! What a recording's pieces come to: the hash over them all, its segments and
//! what is missing. Pure.

use std::time::Duration;

use aws_lc_rs::digest::{Context, SHA256};
use contract::{
    id::RecordingId,
    recordings::{RecordingGap, RecordingSegment},
};

use super::store::Chunk;

/// SHA-256 over the place and the hash of every piece, in hex.
pub fn root(id: RecordingId, chunks: &[Chunk]) -> String {
    let mut context = Context::new(&SHA256);
    context.update(format!("gpuaas-recording-v1\n{id}\n").as_bytes());
    for chunk in chunks {
        let hash = hex(&chunk.sha256);
        context.update(format!("{} {} {hash}\n", chunk.segment, chunk.number).as_bytes());
    }
    hex(context.finish().as_ref())
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

/// What each gateway wrote in one go.
pub fn segments(known: &[(u32, bool, Duration)], chunks: &[Chunk]) -> Vec<RecordingSegment> {
    let of = |(number, is_complete, _): &(u32, bool, Duration)| {
        let own: Vec<&Chunk> = chunks.iter().filter(|it| it.segment == *number).collect();
        let (first, last) = (own.first(), own.last());
        RecordingSegment {
            number: *number,
            pieces: u32::try_from(own.len()).unwrap_or(u32::MAX),
            from: first.map_or(0, |it| it.from),
            to: last.map_or(0, |it| it.to),
            began_ms: first.map_or(0, |it| it.began_ms),
            ended_ms: last.map_or(0, |it| it.ended_ms),
            is_complete: *is_complete,
        }
    };
    known.iter().map(of).collect()
}

/// Output that no piece holds: between pieces, and between segments.
pub fn gaps(chunks: &[Chunk]) -> Vec<RecordingGap> {
    let mut reached = None::<u64>;
    let mut found = Vec::new();
    let mut last_segment = 0;
    for chunk in chunks {
        if let Some(to) = reached.filter(|to| chunk.from > *to) {
            found.push(RecordingGap { after_segment: last_segment, from: to, to: chunk.from });
        }
        reached = Some(reached.unwrap_or(0).max(chunk.to));
        last_segment = chunk.segment;
    }
    found
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn chunk(segment: u32, number: u32, from: u64, to: u64) -> Chunk {
        let began_ms = u64::from(segment) * 10_000 + u64::from(number) * 1_000;
        let sha256 = vec![u8::try_from(number).unwrap_or(0); 32];
        Chunk { segment, number, sha256, size_bytes: 1, from, to, began_ms, ended_ms: began_ms + 900 }
    }

    #[test]
    fn another_order_hash_or_name_is_another_root() {
        let (id, other) = (RecordingId::generate(), RecordingId::generate());
        let (a, b) = (chunk(0, 0, 0, 5), chunk(0, 1, 5, 9));
        let whole = root(id, &[a.clone(), b.clone()]);
        assert_eq!(whole, root(id, &[a.clone(), b.clone()]));
        assert_ne!(whole, root(id, &[b.clone(), a.clone()]));
        assert_ne!(whole, root(other, &[a.clone(), b.clone()]));
        assert_ne!(whole, root(id, std::slice::from_ref(&a)));
        assert_ne!(whole, root(id, &[a, Chunk { sha256: vec![9; 32], ..b }]));
    }

    #[test]
    fn missing_output_of_a_recording_is_named() {
        let chunks = [chunk(0, 0, 0, 5), chunk(0, 1, 5, 9), chunk(1, 0, 9, 12), chunk(2, 0, 20, 25)];
        assert_eq!(gaps(&chunks), [RecordingGap { after_segment: 1, from: 12, to: 20 }]);
        assert!(gaps(&chunks[..3]).is_empty() && gaps(&[]).is_empty());
        // What is shown again after a resume is no gap.
        assert!(gaps(&[chunk(0, 0, 0, 9), chunk(1, 0, 4, 12)]).is_empty());
        let shown = segments(&[(0, true, Duration::ZERO), (1, false, Duration::ZERO)], &chunks);
        assert_eq!((shown[0].pieces, shown[0].to, shown[1].from), (2, 9, 9));
    }
}
