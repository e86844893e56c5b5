//! Compressors that are lent: each needs half a megabyte, so a session has one
//! only while a piece of its recording is being written.

use crate::locked;
use std::io;
use std::sync::Mutex;
use zstd::stream::raw::{CParameter, Encoder, Operation, OutBuffer};

const LEVEL: i32 = 1;
const WINDOW_LOG: u32 = 17; // bound: 128 KiB, which keeps a compressor small
const MOST_IDLE: usize = 4; // bound: what a quiet gateway keeps
const ROOM: usize = 32 * 1024; // bound: one step of the compressor

#[derive(Default)]
pub struct Compressors(Mutex<Vec<Encoder<'static>>>);

impl Compressors {
    pub fn lend(&self) -> io::Result<Compressor> {
        if let Some(mut encoder) = locked(&self.0).pop() {
            encoder.reinit()?;
            return Ok(Compressor(encoder));
        }
        let mut encoder = Encoder::new(LEVEL)?;
        encoder.set_parameter(CParameter::WindowLog(WINDOW_LOG))?;
        Ok(Compressor(encoder))
    }

    pub fn give_back(&self, compressor: Compressor) {
        let mut idle = locked(&self.0);
        if idle.len() < MOST_IDLE {
            idle.push(compressor.0);
        }
    }
}

/// Makes one frame of zstd, piece by piece.
pub struct Compressor(Encoder<'static>);

impl Compressor {
    /// Adds bytes, and writes out all of them.
    pub fn add(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let mut room = [0; ROOM];
        while !bytes.is_empty() {
            let step = self.0.run_on_buffers(bytes, &mut room)?;
            out.extend_from_slice(&room[..step.bytes_written]);
            bytes = &bytes[step.bytes_read..];
        }
        loop {
            let mut buffer = OutBuffer::around(&mut room[..]);
            let left = self.0.flush(&mut buffer)?;
            out.extend_from_slice(buffer.as_slice());
            if left == 0 {
                return Ok(());
            }
        }
    }

    /// Ends the frame.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let mut room = [0; ROOM];
        loop {
            let mut buffer = OutBuffer::around(&mut room[..]);
            let left = self.0.finish(&mut buffer, true)?;
            out.extend_from_slice(buffer.as_slice());
            if left == 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lent_compressor_makes_a_frame_of_its_own() {
        let compressors = Compressors::default();
        let big = "no two lines are the same 0123456789\n".repeat(20_000).into_bytes();
        for text in [&b"first"[..], b"", &big] {
            let mut compressor = compressors.lend().unwrap();
            let mut out = Vec::new();
            text.chunks(50_000).for_each(|it| compressor.add(it, &mut out).unwrap());
            compressor.finish(&mut out).unwrap();
            compressors.give_back(compressor);
            assert_eq!(zstd::decode_all(&out[..]).unwrap(), text);
        }
        assert_eq!(locked(&compressors.0).len(), 1);
    }
}
