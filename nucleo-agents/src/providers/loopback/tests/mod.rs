//! The server as its clients meet it: over real HTTP, and in virtual time without a socket.

mod http;
mod support;
