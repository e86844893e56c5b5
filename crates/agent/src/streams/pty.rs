//! A pseudo-terminal: its master end, read and written without blocking, and the
//! slave end that a program is started on.

use protocol::stream::Size;
use rustix::pty::OpenptFlags;
use rustix::termios::{InputModes, OptionalActions, SpecialCodeIndex, Winsize};
use std::io;
use std::os::fd::OwnedFd;
use tokio::net::unix::pipe::{Receiver, Sender};

/// To the runtime the master is a pipe that is read and one that is written: it
/// asks nothing else of either.
pub struct Pty {
    reader: Receiver,
    writer: Sender,
}

/// The other end; closed when the program has it.
pub struct Slave(OwnedFd);

impl Pty {
    pub fn open(size: Size) -> io::Result<(Self, Slave)> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags)?;
        rustix::pty::grantpt(&master)?;
        rustix::pty::unlockpt(&master)?;
        let slave = rustix::pty::ioctl_tiocgptpeer(&master, flags)?;
        rustix::termios::tcsetwinsize(&master, window(size))?;
        // Erasing a letter erases all its bytes.
        let mut modes = rustix::termios::tcgetattr(&slave)?;
        modes.input_modes |= InputModes::IUTF8;
        rustix::termios::tcsetattr(&slave, OptionalActions::Now, &modes)?;
        rustix::io::ioctl_fionbio(&master, true)?;
        let writer = Sender::from_owned_fd_unchecked(master.try_clone()?)?;
        Ok((Self { reader: Receiver::from_owned_fd_unchecked(master)?, writer }, Slave(slave)))
    }

    pub fn resize(&self, size: Size) -> io::Result<()> {
        Ok(rustix::termios::tcsetwinsize(&self.writer, window(size))?)
    }

    /// The process group in the foreground; none before a shell has made one.
    pub fn foreground(&self) -> Option<i32> {
        rustix::termios::tcgetpgrp(&self.writer).ok().map(|group| group.as_raw_nonzero().get())
    }

    /// What stands for the end of input on this terminal.
    pub fn end_of_input(&self) -> u8 {
        let modes = rustix::termios::tcgetattr(&self.writer);
        modes.map_or(4, |modes| modes.special_codes[SpecialCodeIndex::VEOF])
    }

    /// Waits for output and takes what is there and fits; nought is the end. Cut
    /// short, it has taken nothing.
    pub async fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            self.reader.readable().await?;
            match self.read_available(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                taken => return taken,
            }
        }
    }

    /// Waits until it takes some of the bytes, and says how many.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            self.writer.writable().await?;
            match self.writer.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                taken => return taken,
            }
        }
    }

    /// The kernel gives a page at a time: reads until nothing is left or `into` is full.
    fn read_available(&self, into: &mut [u8]) -> io::Result<usize> {
        let mut taken = 0;
        while taken < into.len() {
            match self.reader.try_read(&mut into[taken..]) {
                Ok(0) => break,
                Ok(count) => taken += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && taken > 0 => break,
                // Every slave end is closed.
                Err(error) if error.raw_os_error() == Some(nix::errno::Errno::EIO as i32) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }
}

impl Slave {
    /// Standard input, output or error of a program.
    pub fn to_stdio(&self) -> io::Result<std::process::Stdio> {
        Ok(self.0.try_clone()?.into())
    }

    /// Makes it the user's own, as a login does.
    pub fn give_to(&self, uid: u32) -> io::Result<()> {
        std::os::unix::fs::fchown(&self.0, Some(uid), None)
    }
}

fn window(size: Size) -> Winsize {
    let Size { columns, rows } = size.clamped();
    Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 }
}
