//! Networks (CAIP-2), their version 1 names, and the tokens known here.

use core::fmt;

use crate::address::Address;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;

/// A CAIP-2 network such as `eip155:8453`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Network(String);

/// Names of x402 version 1 and their chain ids.
const V1_NAMES: &[(&str, u64)] = &[
    ("ethereum", 1),
    ("sepolia", 11155111),
    ("base", 8453),
    ("base-sepolia", 84532),
    ("avalanche", 43114),
    ("avalanche-fuji", 43113),
    ("polygon", 137),
    ("polygon-amoy", 80002),
    ("abstract", 2741),
    ("abstract-testnet", 11124),
    ("iotex", 4689),
    ("sei", 1329),
    ("sei-testnet", 1328),
    ("peaq", 3338),
    ("story", 1514),
    ("educhain", 41923),
    ("skale-base-sepolia", 324705682),
    ("megaeth", 4326),
    ("monad", 143),
    ("stable", 988),
    ("stable-testnet", 2201),
    ("celo", 42220),
    ("flare", 14),
];

const SOLANA_V1_NAMES: &[(&str, &str)] = &[
    ("solana", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"),
    ("solana-devnet", "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"),
    ("solana-testnet", "solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z"),
];

impl Network {
    /// Reads a CAIP-2 identifier: namespace of 3 to 8 of `a-z 0-9 -`, reference of 1 to 32 of `A-Z a-z 0-9 _ -`; for `eip155`
    /// a decimal chain id from 1 to 2^53-1 without leading zeros. Error: `network_invalid`.
    pub fn parse(text: &str) -> Result<Network, Error> {
        let invalid = || Error::new(Code::NetworkInvalid, "");
        let (namespace, reference) = text.split_once(':').ok_or_else(invalid)?;
        let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let any = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let well_formed = (3..=8).contains(&namespace.len())
            && namespace.bytes().all(lower)
            && (1..=32).contains(&reference.len())
            && reference.bytes().all(any);
        let network = Network(text.to_owned());
        if !well_formed || (namespace == "eip155" && network.chain_id().is_none()) {
            return Err(invalid());
        }
        Ok(network)
    }

    /// Reads a version 1 name such as `base-sepolia`, in exactly that case. Error: `network_invalid`.
    pub fn from_v1_name(name: &str) -> Result<Network, Error> {
        if let Some((_, id)) = V1_NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(Network(format!("eip155:{id}")));
        }
        SOLANA_V1_NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, network)| Network((*network).to_owned()))
            .ok_or_else(|| Error::new(Code::NetworkInvalid, ""))
    }

    /// The version 1 name, where there is one.
    pub fn v1_name(&self) -> Option<&'static str> {
        let solana = SOLANA_V1_NAMES
            .iter()
            .find(|(_, network)| *network == self.0)
            .map(|(name, _)| *name);
        let id = self.chain_id();
        solana.or_else(|| {
            V1_NAMES
                .iter()
                .find(|(_, known)| Some(*known) == id)
                .map(|(name, _)| *name)
        })
    }

    /// The chain id of an `eip155` network.
    pub fn chain_id(&self) -> Option<u64> {
        let reference = self.0.strip_prefix("eip155:")?;
        let digits = !reference.starts_with('0') && reference.bytes().all(|byte| byte.is_ascii_digit());
        digits
            .then(|| reference.parse().ok())
            .flatten()
            .filter(|id| *id < (1 << 53))
    }

    /// Reads a JSON string. Errors: `invalid_type`, `network_invalid`.
    pub fn from_json(json: &Json) -> Result<Network, Error> {
        Network::parse(json.as_str()?)
    }

    /// The identifier.
    pub fn to_json(&self) -> Json {
        Json::text(self.0.as_str())
    }

    /// The identifier.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A token with EIP-3009 whose EIP-712 domain is known. Where an offer says otherwise, the offer is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KnownToken {
    /// CAIP-2 network.
    pub network: &'static str,
    /// Address, EIP-55.
    pub asset: &'static str,
    /// EIP-712 domain name.
    pub name: &'static str,
    /// EIP-712 domain version.
    pub version: &'static str,
    /// Decimal places, for display.
    pub decimals: u8,
}

const fn token(
    network: &'static str,
    asset: &'static str,
    name: &'static str,
    version: &'static str,
) -> KnownToken {
    KnownToken {
        network,
        asset,
        name,
        version,
        decimals: 6,
    }
}

/// The tokens known here, in the order in which a policy without a list of its own prefers them.
pub const KNOWN_TOKENS: &[KnownToken] = &[
    token(
        "eip155:8453",
        "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "USD Coin",
        "2",
    ),
    token(
        "eip155:84532",
        "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
        "USDC",
        "2",
    ),
    token(
        "eip155:1",
        "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
        "USD Coin",
        "2",
    ),
    token(
        "eip155:43114",
        "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E",
        "USD Coin",
        "2",
    ),
    token(
        "eip155:137",
        "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
        "USD Coin",
        "2",
    ),
    token(
        "eip155:42161",
        "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
        "USD Coin",
        "2",
    ),
    token(
        "eip155:421614",
        "0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d",
        "USD Coin",
        "2",
    ),
    token(
        "eip155:143",
        "0x754704Bc059F8C67012fEd69BC8A327a5aafb603",
        "USDC",
        "2",
    ),
    token(
        "eip155:42220",
        "0xcebA9300f2b948710d2653dD7B07f33A8B32118C",
        "USDC",
        "2",
    ),
    token(
        "eip155:1329",
        "0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392",
        "USDC",
        "2",
    ),
    token(
        "eip155:1328",
        "0x4fCF1784B31630811181f670Aea7A7bEF803eaED",
        "USDC",
        "2",
    ),
    token(
        "eip155:14",
        "0xe7cd86e13AC4309349F30B3435a9d337750fC82D",
        "USD\u{20ae}0",
        "1",
    ),
    token(
        "eip155:988",
        "0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
        "USDT0",
        "1",
    ),
    token(
        "eip155:2201",
        "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9",
        "USDT0",
        "1",
    ),
];

/// The entry of a token, where there is one.
pub fn known_token(network: &Network, asset: &Address) -> Option<&'static KnownToken> {
    // Their checksums are right: a test says so.
    let is = |token: &KnownToken| hex::decode_array(token.asset) == Ok(asset.0);
    KNOWN_TOKENS
        .iter()
        .find(|token| token.network == network.as_str() && is(token))
}
