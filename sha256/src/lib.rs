//! SHA-256 (FIPS 180-4) of many messages, four at a time, on machines that add four words at once. Elsewhere it gives the same, and no sooner.
//!
//! Public data only. A crate of its own, so that it is compiled for speed where the rest is compiled for size.

mod four;

use four::Four;

const START: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

#[rustfmt::skip]
const ROUNDS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

const BLOCK: usize = 64;

/// A message on its way through one of four places.
struct Lane<'a> {
    place: usize,
    whole: &'a [[u8; BLOCK]],
    end: [u8; 2 * BLOCK],
    /// Blocks in all, and how many of them are through.
    count: usize,
    done: usize,
}

impl Lane<'_> {
    fn new(place: usize, message: &[u8]) -> Lane<'_> {
        let whole = message.as_chunks::<BLOCK>().0;
        let (end, blocks) = ending(message);
        Lane {
            place,
            whole,
            end,
            count: whole.len() + blocks,
            done: 0,
        }
    }

    fn block(&self) -> Option<&[u8; BLOCK]> {
        let rest = self.end.as_chunks::<BLOCK>().0;
        let behind = || rest.get(self.done - self.whole.len());
        self.whole.get(self.done).or_else(behind)
    }
}

/// The digest of each message. Where one of four is through, the next one takes its place.
pub fn digests(messages: &[&[u8]]) -> Vec<[u8; 32]> {
    let mut digests = vec![[0; 32]; messages.len()];
    let mut waiting = messages.iter().enumerate();
    let mut lanes = [const { None }; 4];
    let mut state = START.map(Four::all);
    loop {
        for (at, lane) in lanes.iter_mut().enumerate() {
            if lane.is_some() {
                continue;
            }
            let Some((place, message)) = waiting.next() else {
                break;
            };
            *lane = Some(Lane::new(place, message));
            for (words, start) in state.iter_mut().zip(START) {
                *words = words.with(at, start);
            }
        }
        if lanes.iter().all(Option::is_none) {
            return digests;
        }
        // A place that nobody takes goes on with zeros, which nobody reads.
        let blocks = lanes.each_ref().map(|lane| lane.as_ref().and_then(Lane::block));
        compress(&mut state, blocks.map(|block| block.unwrap_or(&[0; BLOCK])));
        for (at, slot) in lanes.iter_mut().enumerate() {
            let Some(lane) = slot else { continue };
            lane.done += 1;
            if lane.done < lane.count {
                continue;
            }
            if let Some(digest) = digests.get_mut(lane.place) {
                for (bytes, words) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
                    *bytes = words
                        .words()
                        .get(at)
                        .map(|word| word.to_be_bytes())
                        .unwrap_or_default();
                }
            }
            *slot = None;
        }
    }
}

/// What follows the whole blocks of a message: the rest of it, a bit, zeros and its length in bits; and how many blocks that is.
fn ending(message: &[u8]) -> ([u8; 2 * BLOCK], usize) {
    let rest = message.as_chunks::<BLOCK>().1;
    let blocks = if rest.len() + 9 <= BLOCK { 1 } else { 2 };
    let mut end = [0; 2 * BLOCK];
    let bits = (message.len() as u64).wrapping_mul(8).to_be_bytes();
    for (slot, byte) in end.iter_mut().zip(rest.iter().chain(&[0x80])) {
        *slot = *byte;
    }
    for (slot, byte) in end.iter_mut().skip(blocks * BLOCK - 8).zip(bits) {
        *slot = byte;
    }
    (end, blocks)
}

#[inline(always)]
fn compress(state: &mut [Four; 8], blocks: [&[u8; BLOCK]; 4]) {
    let mut words = [Four::all(0); 16];
    let all = blocks.map(|block| block.as_chunks::<4>().0.iter());
    let [mut a, mut b, mut c, mut d] = all;
    for word in &mut words {
        if let (Some(a), Some(b), Some(c), Some(d)) = (a.next(), b.next(), c.next(), d.next()) {
            *word = Four::of([a, b, c, d]);
        }
    }
    let mut now = *state;
    for (turn, constants) in ROUNDS.as_chunks::<16>().0.iter().enumerate() {
        if turn > 0 {
            expand(&mut words);
        }
        for (word, constant) in words.iter().zip(constants) {
            round(&mut now, word.plus(Four::all(*constant)));
        }
    }
    for (old, new) in state.iter_mut().zip(now) {
        *old = old.plus(new);
    }
}

/// The next 16 words of the schedule, in the place of those before them.
#[inline(always)]
fn expand(words: &mut [Four; 16]) {
    let [w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15] = *words;
    let next = |w0: Four, w1: Four, w9: Four, w14: Four| {
        let low = w1.round(7).differing(w1.round(18)).differing(w1.down(3));
        let high = w14.round(17).differing(w14.round(19)).differing(w14.down(10));
        w0.plus(low).plus(w9).plus(high)
    };
    let n0 = next(w0, w1, w9, w14);
    let n1 = next(w1, w2, w10, w15);
    let n2 = next(w2, w3, w11, n0);
    let n3 = next(w3, w4, w12, n1);
    let n4 = next(w4, w5, w13, n2);
    let n5 = next(w5, w6, w14, n3);
    let n6 = next(w6, w7, w15, n4);
    let n7 = next(w7, w8, n0, n5);
    let n8 = next(w8, w9, n1, n6);
    let n9 = next(w9, w10, n2, n7);
    let n10 = next(w10, w11, n3, n8);
    let n11 = next(w11, w12, n4, n9);
    let n12 = next(w12, w13, n5, n10);
    let n13 = next(w13, w14, n6, n11);
    let n14 = next(w14, w15, n7, n12);
    let n15 = next(w15, n0, n8, n13);
    *words = [
        n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12, n13, n14, n15,
    ];
}

#[inline(always)]
fn round(state: &mut [Four; 8], word: Four) {
    let [a, b, c, d, e, f, g, h] = *state;
    let high = e.round(6).differing(e.round(11)).differing(e.round(25));
    let first = h.plus(high).plus(e.choose(f, g)).plus(word);
    let low = a.round(2).differing(a.round(13)).differing(a.round(22));
    // The majority of three: where two differ the third decides.
    let second = low.plus(a.differing(b).choose(c, a));
    *state = [first.plus(second), a, b, c, d.plus(first), e, f, g];
}
