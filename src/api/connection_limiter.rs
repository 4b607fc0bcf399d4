//! The places at a door: how many connections it takes in, and who has to leave when all are taken.

use axum::body::{Body, Bytes, HttpBody};
use identity::Client;
use std::{
    collections::HashMap,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
};
use tokio_util::sync::CancellationToken;

/// The places of one door; cheap to clone.
#[derive(Clone)]
pub(crate) struct ConnectionLimiter(Arc<Inner>);

struct Inner {
    most: usize,
    /// How many places one address may keep with what it is served, when all are taken.
    fair: usize,
    taken: Mutex<(u64, HashMap<u64, OpenConnection>)>,
}

struct OpenConnection {
    by: Client,
    requests: Arc<AtomicU32>,
    leave: CancellationToken,
}

/// One connection's place; given back when dropped.
pub(crate) struct ConnectionPermit {
    seats: ConnectionLimiter,
    number: u64,
    requests: Arc<AtomicU32>,
    leave: CancellationToken,
}

/// Shows that a known caller's request is under way on a connection, as long as it is held.
pub(crate) struct Served(Arc<AtomicU32>);

/// Given along with each request, to be taken when its caller is known.
#[derive(Clone)]
pub(crate) struct RequestTracker(Arc<AtomicU32>);

impl ConnectionLimiter {
    pub fn new(most: usize, fair: usize) -> Self {
        Self(Arc::new(Inner { most, fair, taken: Mutex::default() }))
    }

    /// A place for a newcomer. When none is left, whoever serves nobody leaves: of the address with the most places the
    /// one that has been there longest. So a crowd of silent connections never keeps a person out. An address that holds more
    /// places than is fair with what it is served loses the oldest of them in the end.
    pub fn take(&self, by: Client) -> Option<ConnectionPermit> {
        let mut inner = self.0.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.1.len() >= self.0.most {
            let (mut held, mut served): (HashMap<Client, usize>, HashMap<Client, usize>) = Default::default();
            let is_served = |taken: &OpenConnection| taken.requests.load(Ordering::Relaxed) > 0;
            for taken in inner.1.values() {
                *held.entry(taken.by).or_default() += 1;
                *served.entry(taken.by).or_default() += usize::from(is_served(taken));
            }
            let greedy = |taken: &OpenConnection| served[&taken.by] > self.0.fair;
            let leaving = inner.1.iter().filter(|(_, taken)| !is_served(taken) || greedy(taken));
            // Numbers grow with time, so the smallest has been there longest.
            let leaves =
                leaving.max_by_key(|(number, taken)| (!is_served(taken), held[&taken.by], std::cmp::Reverse(**number)));
            let leaves = *leaves?.0;
            inner.1.remove(&leaves)?.leave.cancel();
        }
        inner.0 += 1;
        let (number, requests, leave) = (inner.0, Arc::new(AtomicU32::new(0)), CancellationToken::new());
        inner.1.insert(number, OpenConnection { by, requests: requests.clone(), leave: leave.clone() });
        Some(ConnectionPermit { seats: self.clone(), number, requests, leave })
    }
}

impl ConnectionPermit {
    /// Ends when the place is needed for another.
    pub fn leave(&self) -> CancellationToken {
        self.leave.clone()
    }

    pub fn ticket(&self) -> RequestTracker {
        RequestTracker(self.requests.clone())
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.seats.0.taken.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&self.number);
    }
}

impl RequestTracker {
    /// A known caller is served from now on.
    pub fn serve(&self) -> Served {
        self.0.fetch_add(1, Ordering::Relaxed);
        Served(self.0.clone())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An answer's body; whoever reads it is served until its end.
pub(crate) struct Serving {
    pub body: Body,
    pub _served: Served,
}

impl HttpBody for Serving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_silent_crowd_makes_room_and_the_served_stay() {
        let seats = ConnectionLimiter::new(12, 3);
        let address = |n: u8| Client::from(std::net::IpAddr::from([192, 0, 2, n]));
        let (crowd, person) = (address(1), address(2));
        // Others, who are served and few.
        let others: Vec<ConnectionPermit> = (10..19).map(|n| seats.take(address(n)).unwrap()).collect();
        let _others: Vec<Served> = others.iter().map(|seat| seat.ticket().serve()).collect();
        let served = seats.take(crowd).unwrap();
        let _request = served.ticket().serve();
        let (alone, first) = (seats.take(person).unwrap(), seats.take(crowd).unwrap());
        let second = seats.take(crowd).unwrap();
        assert!(first.leave.is_cancelled(), "of the address with the most places, one that serves nobody");
        assert!(!served.leave.is_cancelled() && !alone.leave.is_cancelled());
        drop(first);
        let third = seats.take(person).unwrap();
        assert!(second.leave.is_cancelled());
        let _requests = [alone.ticket().serve(), third.ticket().serve()];
        assert!(seats.take(crowd).is_none(), "everybody is being served");
        drop(alone);
        assert!(seats.take(crowd).is_some(), "a place was given back");
        assert_eq!(seats.0.taken.lock().unwrap().1.len(), 11);
    }

    #[test]
    fn nobody_holds_every_place_by_being_served() {
        let seats = ConnectionLimiter::new(8, 3);
        let address = |n: u8| Client::from(std::net::IpAddr::from([192, 0, 2, n]));
        let held: Vec<ConnectionPermit> = (0..8).map(|_| seats.take(address(1)).unwrap()).collect();
        let _served: Vec<Served> = held.iter().map(|seat| seat.ticket().serve()).collect();
        assert!(seats.take(address(2)).is_some());
        assert!(held[0].leave.is_cancelled() && !held[1].leave.is_cancelled());
    }
}
