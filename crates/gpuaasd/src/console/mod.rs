//! The console: the pages that people use in a browser, built into this
//! program, and the session that a browser keeps. The pages themselves are in
//! the folder `console` of the repository; they use the API like anybody else.

mod files;
mod session;

pub use files::serve;
pub use session::router;
