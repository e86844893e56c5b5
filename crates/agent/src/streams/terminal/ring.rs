//! The last output of a shell, by offset: what nobody acknowledged, and some of
//! what was, so that somebody who comes back misses nothing.

use bytes::{BufMut, BytesMut};
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub struct Ring {
    bytes: VecDeque<u8>,
    /// The offset of the first byte kept.
    start: u64,
}

impl Ring {
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The offset that the next byte will have.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Forgets everything before the offset.
    pub fn forget(&mut self, before: u64) {
        let count = before.saturating_sub(self.start).min(self.bytes.len() as u64);
        self.bytes.drain(..usize::try_from(count).unwrap_or(0));
        self.start += count;
        // A flood is over: give its memory back.
        if self.bytes.capacity() > 64 * 1024 && self.bytes.len() < self.bytes.capacity() / 8 {
            self.bytes.shrink_to(self.bytes.len() * 2);
        }
    }

    /// Whether output from that offset on can be given exactly.
    pub fn holds(&self, offset: u64) -> bool {
        (self.start..=self.end()).contains(&offset)
    }

    /// Writes at most `most` bytes from the offset on.
    pub fn write_from(&self, offset: u64, most: usize, out: &mut BytesMut) {
        for part in self.parts(offset, most) {
            out.put_slice(part);
        }
    }

    /// At most `most` bytes from the offset on, in one or two pieces.
    pub fn parts(&self, offset: u64, most: usize) -> [&[u8]; 2] {
        let from = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX).min(self.bytes.len());
        let to = from.saturating_add(most).min(self.bytes.len());
        let (first, second) = self.bytes.as_slices();
        let cut = first.len();
        [&first[from.min(cut)..to.min(cut)], &second[from.max(cut) - cut..to.max(cut) - cut]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ring_returns_pushed_bytes_by_offset(
            pieces in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..300), 0_u64..200), 1..30),
            most in 1_usize..500,
        ) {
            let (mut ring, mut all) = (Ring::default(), Vec::new());
            for (piece, forget) in pieces {
                ring.push(&piece);
                all.extend(piece);
                ring.forget(ring.start() + forget);
                prop_assert_eq!(ring.end(), all.len() as u64);
                for offset in [ring.start(), (ring.start() + ring.end()) / 2, ring.end()] {
                    prop_assert!(ring.holds(offset));
                    let mut out = BytesMut::new();
                    ring.write_from(offset, most, &mut out);
                    let from = offset as usize;
                    prop_assert_eq!(&out[..], &all[from..(from + most).min(all.len())]);
                }
                prop_assert!(!ring.holds(ring.end() + 1));
            }
        }
    }
}
