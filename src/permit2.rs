//! Permit2 `PermitWitnessTransferFrom` as x402 uses it: what is signed, its digest and its signer.
//!
//! Permit2 moves any ERC-20 token whose owner once approved it. The signature names a spender, which is x402's own
//! contract, and a witness that binds the recipient; that contract accepts nothing else, so the money goes where it was signed to go.

use alloy_primitives::{keccak256, U256};

use crate::address::Address;
use crate::amount::Amount;
use crate::eip3009::AuthorizationDigest;
use crate::eip712;
use crate::error::{Code, Error};
use crate::json::Json;
use crate::secp256k1;

/// Permit2, at one address on every network where x402 uses it.
pub const CONTRACT: Address = Address([
    0x00, 0x00, 0x00, 0x00, 0x00, 0x22, 0xd4, 0x73, 0x03, 0x0f, 0x11, 0x6d, 0xde, 0xe9, 0xf6, 0xb4, 0x3a,
    0xc7, 0x8b, 0xa3,
]);
/// The contract that settles payments of scheme `exact`.
pub const EXACT_SPENDER: Address = Address([
    0x40, 0x20, 0x85, 0xc2, 0x48, 0xee, 0xa2, 0x7d, 0x92, 0xe8, 0xb3, 0x0b, 0x2c, 0x58, 0xed, 0x07, 0xf9,
    0xe2, 0x00, 0x01,
]);

/// The contract that settles payments of scheme `upto`: as much as was used, at most what was signed.
pub const UPTO_SPENDER: Address = Address([
    0x40, 0x20, 0xa4, 0xf3, 0xb7, 0xb9, 0x0c, 0xca, 0x42, 0x3b, 0x9f, 0xab, 0xcc, 0x0c, 0xe5, 0x7c, 0x6c,
    0x24, 0x00, 0x02,
]);

/// The domain has no version.
const DOMAIN_TYPE: &str = "EIP712Domain(string name,uint256 chainId,address verifyingContract)";
const DOMAIN_NAME: &str = "Permit2";
const TOKEN_TYPE: &str = "TokenPermissions(address token,uint256 amount)";
const WITNESS_TYPE: &str = "Witness(address to,uint256 validAfter)";
const UPTO_WITNESS_TYPE: &str = "Witness(address to,address facilitator,uint256 validAfter)";
/// Followed by the two types it refers to, in the order of their names.
const PRIMARY_TYPE: &str = "PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Witness witness)";

/// One authorization. It can land when `valid_after <= block time <= deadline`: both bounds are inclusive, unlike those of
/// EIP-3009.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Permit {
    /// Payer. Not part of what is signed: Permit2 takes it from the call and compares the signer with it.
    pub from: Address,
    /// The token.
    pub token: Address,
    /// Atomic units: scheme `exact` moves exactly that much, `upto` at most.
    pub amount: Amount,
    /// One bit of the payer's bitmap in Permit2, the same for every token: used at most once.
    pub nonce: [u8; 32],
    /// Inclusive upper bound.
    pub deadline: Amount,
    /// Recipient, in the witness.
    pub to: Address,
    /// Who alone may settle it, in the witness of scheme `upto`; `None` for scheme `exact`. The spender follows from it.
    pub facilitator: Option<Address>,
    /// Inclusive lower bound, in the witness.
    pub valid_after: Amount,
}

/// Where the bitmap of a payer has a nonce: the number of the word, and the mask of the bit in it.
pub fn place(nonce: &[u8; 32]) -> (U256, U256) {
    let [.., bit] = *nonce;
    (
        U256::from_be_bytes(*nonce) >> 8_usize,
        U256::ONE << usize::from(bit),
    )
}

impl Permit {
    /// Reads the members of `payload.permit2Authorization`; the nonce is a decimal text there. Errors, in this order of fields:
    /// `missing_field`, `invalid_type`, `address_invalid`, `address_checksum`, `amount_invalid`, `amount_must_be_string`,
    /// `spender_unknown` for a contract other than x402's own two, `nonce_invalid` (no decimal text of a number below 2^256). The
    /// spender of scheme `upto` demands a `witness.facilitator`.
    pub fn from_json(json: &Json) -> Result<Permit, Error> {
        let spender = |json: &Json| match Address::from_json(json)? {
            known @ (EXACT_SPENDER | UPTO_SPENDER) => Ok(known),
            _ => Err(Error::new(Code::SpenderUnknown, "")),
        };
        let nonce = |json: &Json| {
            let number = Amount::parse(json.as_str()?).map_err(|_| Error::new(Code::NonceInvalid, ""))?;
            Ok(number.to_be_bytes())
        };
        let permitted = |json: &Json| {
            Ok((
                json.read("token", Address::from_json)?,
                json.read("amount", Amount::from_json)?,
            ))
        };
        let from = json.read("from", Address::from_json)?;
        let (token, amount) = json.read("permitted", permitted)?;
        let spender = json.read("spender", spender)?;
        let nonce = json.read("nonce", nonce)?;
        let deadline = json.read("deadline", Amount::from_json)?;
        let witness = |json: &Json| {
            let to = json.read("to", Address::from_json)?;
            let facilitator = match spender {
                UPTO_SPENDER => Some(json.read("facilitator", Address::from_json)?),
                _ => None,
            };
            Ok((to, facilitator, json.read("validAfter", Amount::from_json)?))
        };
        let (to, facilitator, valid_after) = json.read("witness", witness)?;
        Ok(Permit {
            from,
            token,
            amount,
            nonce,
            deadline,
            to,
            facilitator,
            valid_after,
        })
    }

    /// In the order of the official packages.
    pub fn to_json(&self) -> Json {
        Json::object([("from", self.from.to_json())])
            .with("permitted", self.permitted())
            .with("spender", self.spender().to_json())
            .with("nonce", self.nonce_text())
            .with("deadline", self.deadline.to_json())
            .with("witness", self.witness())
    }

    /// The contract that may take it, by the scheme.
    pub const fn spender(&self) -> Address {
        match self.facilitator {
            None => EXACT_SPENDER,
            Some(_) => UPTO_SPENDER,
        }
    }

    /// Whether a transfer of so much is what was signed: exactly the amount, or with scheme `upto` at most.
    pub fn covers(&self, moved: &Amount) -> bool {
        match self.facilitator {
            None => *moved == self.amount,
            Some(_) => *moved <= self.amount,
        }
    }

    fn permitted(&self) -> Json {
        Json::object([("token", self.token.to_json()), ("amount", self.amount.to_json())])
    }

    fn witness(&self) -> Json {
        Json::object([("to", self.to.to_json())])
            .with_some("facilitator", self.facilitator.map(|one| one.to_json()))
            .with("validAfter", self.valid_after.to_json())
    }

    const fn witness_type(&self) -> &'static str {
        match self.facilitator {
            None => WITNESS_TYPE,
            Some(_) => UPTO_WITNESS_TYPE,
        }
    }

    fn nonce_text(&self) -> Json {
        Amount::from_be_bytes(self.nonce).to_json()
    }

    /// The first second at which it can no longer land; of a deadline that never comes, the last one there is.
    pub fn ends_at(&self) -> Amount {
        self.deadline
            .checked_add(Amount::from_u64(1))
            .unwrap_or(self.deadline)
    }

    /// Its [`place`].
    pub fn slot(&self) -> (U256, U256) {
        place(&self.nonce)
    }

    /// The EIP-712 hashes.
    pub fn digest(&self, chain_id: u64) -> AuthorizationDigest {
        let permitted = [
            keccak256(TOKEN_TYPE).0,
            self.token.to_word(),
            self.amount.to_be_bytes(),
        ];
        let mut witness = vec![keccak256(self.witness_type()).0, self.to.to_word()];
        witness.extend(self.facilitator.map(|one| one.to_word()));
        witness.push(self.valid_after.to_be_bytes());
        let words = [
            keccak256([PRIMARY_TYPE, TOKEN_TYPE, self.witness_type()].concat()).0,
            keccak256(permitted.concat()).0,
            self.spender().to_word(),
            self.nonce,
            self.deadline.to_be_bytes(),
            keccak256(witness.concat()).0,
        ];
        let domain = [
            keccak256(DOMAIN_TYPE).0,
            keccak256(DOMAIN_NAME).0,
            U256::from(chain_id).to_be_bytes(),
            CONTRACT.to_word(),
        ];
        let struct_hash = keccak256(words.concat()).0;
        let domain_separator = keccak256(domain.concat()).0;
        AuthorizationDigest {
            domain_separator,
            struct_hash,
            digest: eip712::digest(&domain_separator, &struct_hash),
        }
    }

    /// The domain as a typed document names it.
    pub fn domain_json(chain_id: u64) -> Json {
        Json::object([
            ("name", Json::text(DOMAIN_NAME)),
            ("chainId", Json::number(chain_id)),
            ("verifyingContract", CONTRACT.to_json()),
        ])
    }

    /// The chain of such a domain. Errors: those of the chain id, `typed_data_invalid` where it is not Permit2's own.
    pub fn chain_of(domain: &Json) -> Result<u64, Error> {
        let chain_id = domain.read("chainId", Json::as_u64)?;
        // Member order does not count: a record is canonical JSON.
        match domain.to_canonical()? == Permit::domain_json(chain_id).to_canonical()? {
            true => Ok(chain_id),
            false => Err(Error::new(Code::TypedDataInvalid, "")),
        }
    }

    /// The whole EIP-712 document, for signers outside. The payer is not part of it.
    pub fn typed_data(&self, chain_id: u64) -> Json {
        let witness: &[(&str, &str)] = match self.facilitator {
            None => &[("to", "address"), ("validAfter", "uint256")],
            Some(_) => &[
                ("to", "address"),
                ("facilitator", "address"),
                ("validAfter", "uint256"),
            ],
        };
        let types = Json::object([
            (
                "EIP712Domain",
                eip712::fields(&[
                    ("name", "string"),
                    ("chainId", "uint256"),
                    ("verifyingContract", "address"),
                ]),
            ),
            (
                "PermitWitnessTransferFrom",
                eip712::fields(&[
                    ("permitted", "TokenPermissions"),
                    ("spender", "address"),
                    ("nonce", "uint256"),
                    ("deadline", "uint256"),
                    ("witness", "Witness"),
                ]),
            ),
            (
                "TokenPermissions",
                eip712::fields(&[("token", "address"), ("amount", "uint256")]),
            ),
            ("Witness", eip712::fields(witness)),
        ]);
        let message = Json::object([
            ("permitted", self.permitted()),
            ("spender", self.spender().to_json()),
            ("nonce", self.nonce_text()),
            ("deadline", self.deadline.to_json()),
            ("witness", self.witness()),
        ]);
        let domain = Permit::domain_json(chain_id);
        eip712::document(domain, types, "PermitWitnessTransferFrom", message)
    }

    /// The address that signed. Errors: `contract_signature`, `signature_invalid`.
    pub fn recover(&self, chain_id: u64, signature: &str) -> Result<Address, Error> {
        let signature = secp256k1::parse_signature(signature)?;
        secp256k1::recover(&self.digest(chain_id).digest, &signature)
    }
}
