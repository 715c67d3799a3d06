// Seals what this page keeps on the device. The key comes with each welcome, lives in memory only and cannot be read out.

/** @typedef {{iv: Uint8Array<ArrayBuffer>, data: ArrayBuffer}} Sealed */

const IV_BYTES = 12;

/** @param {string} text base64url */
function bytesOf(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
}

export class Cipher {
  /** @param {CryptoKey} key */
  constructor(key) {
    this.key = key;
  }

  /** @param {string} key 32 bytes, base64url @returns {Promise<Cipher | null>} null where the browser has no cipher or the server no key */
  static async from(key) {
    if (!key || !globalThis.crypto?.subtle) return null;
    try {
      return new Cipher(await crypto.subtle.importKey("raw", bytesOf(key), "AES-GCM", false, ["encrypt", "decrypt"]));
    } catch {
      return null;
    }
  }

  /** @param {string} place where it is kept: it opens nowhere else @param {Uint8Array<ArrayBuffer>} bytes @returns {Promise<Sealed>} */
  async seal(place, bytes) {
    const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES)); // never the same twice under one key
    const data = await crypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData: encoded(place) }, this.key, bytes);
    return { iv, data };
  }

  /** @param {string} place @param {Sealed} sealed @returns {Promise<Uint8Array<ArrayBuffer> | null>} null: damaged, or of another key */
  async open(place, { iv, data }) {
    try {
      const algorithm = { name: "AES-GCM", iv, additionalData: encoded(place) };
      return new Uint8Array(await crypto.subtle.decrypt(algorithm, this.key, data));
    } catch {
      return null;
    }
  }
}

/** @param {string} text */
function encoded(text) {
  return new TextEncoder().encode(text);
}
