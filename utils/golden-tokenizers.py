#!/usr/bin/env python3
"""Writes small tokenizers of the kinds that models are published with, and what Hugging Face's tokenizers makes of texts by them.

  golden-tokenizers.py [NAME...]     writes unittests/Tokenizers/Inputs/NAME.json and NAME.expected.json, by default of all

A tokenizer is trained on README.md, then put together as the files of its family are. NAME.expected.json has for each of TEXTS
the ids and what they are decoded to, without special tokens. Needs the package tokenizers.
"""
import json
import os
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "unittests", "Tokenizers", "Inputs")
SIZE = 420
TEXTS = [
    "", " ", "Hello world", "  two spaces  and a tab\t.", "\n\nlines\r\n and \n  indented\n\n\n", "don't you'LL we've I'm it's",
    "1234567 3.14 0x1F ²³ ½ ٣٤٥", "The budget is 40GB: (a+b)*c == d_e--f!!", "naïve café cafe\u0301 A\u030a Ω Ω ﬁ",
    "Привет мир, ёлка", "日本語のテキスト、中文。", "한국어 각", "👩‍👩‍👧 🏳️‍🌈 é", "a\u000bb\u0085c\u00a0d\u2003e\u3000f\u200bg",
    "<|endoftext|>", "one<|endoftext|> two <|endoftext|>three", "<s>x</s> <unk>", "    eight        spaces", "▁ and ▁▁x",
    "camelCaseWORDSAndMore HTTPServer", "مرحبا بالعالم", "हिन्दी में", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "tail space ",
]
GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = GPT4.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
END = AddedToken("<|endoftext|>", special=True, normalized=False)


def train(tokenizer, **arguments):
    tokenizer.train([os.path.join(ROOT, "README.md")], trainers.BpeTrainer(vocab_size=SIZE, show_progress=False, **arguments))
    return tokenizer


def byte_level(split, normalizer=None, template=None, ignore_merges=False):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = split
    if normalizer:
        tokenizer.normalizer = normalizer
    train(tokenizer, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_tokens([END])
    if template:
        tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
            single=f"{template} $A", special_tokens=[(template, tokenizer.token_to_id(template))])])
    return tokenizer


def by_regex(regex):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(regex), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])


def character_level(normalizer, splitter, decoder, template=True):
    """Makes merges of characters learned word by word, with <unk>, <s> and </s>, and the 256 bytes in front of them."""
    learned = Tokenizer(models.BPE())
    learned.pre_tokenizer = pre_tokenizers.Metaspace()
    train(learned, limit_alphabet=80)
    file = json.loads(learned.to_str())
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokens += sorted(file["model"]["vocab"], key=file["model"]["vocab"].get)
    file["model"] |= {"vocab": {token: number for number, token in enumerate(tokens)}, "unk_token": "<unk>", "fuse_unk": True,
                      "byte_fallback": True}
    tokenizer = Tokenizer.from_str(json.dumps(file | {"pre_tokenizer": None}))
    if normalizer:
        tokenizer.normalizer = normalizer
    if splitter:
        tokenizer.pre_tokenizer = splitter
    tokenizer.decoder = decoder
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in tokens[:3]])
    if template:
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer


def neox():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(False), normalizers.NFC())
    tokenizer.add_tokens([AddedToken(" " * count, normalized=True) for count in (8, 4, 2)])
    return tokenizer


def stripping():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(True))
    tokenizer.add_tokens([AddedToken("spaces", lstrip=True, rstrip=True, normalized=False)])
    return tokenizer


WORDS = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
STRIPPED = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
KINDS = {
    "gpt2": lambda: byte_level(pre_tokenizers.ByteLevel(False)),
    "llama3": lambda: byte_level(by_regex(GPT4), template="<|endoftext|>", ignore_merges=True),
    "qwen2": lambda: byte_level(by_regex(QWEN), normalizers.NFC()),
    "o200k": lambda: byte_level(by_regex(O200K)),
    "neox": neox,
    "stripping": stripping,
    "falcon": lambda: byte_level(pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(False), pre_tokenizers.Digits(False),
        pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")])),
    "llama2": lambda: character_level(normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), None, STRIPPED),
    "mistral": lambda: character_level(None, pre_tokenizers.Metaspace("▁", "first", split=False), STRIPPED),
    "metaspace": lambda: character_level(normalizers.NFKC(), pre_tokenizers.Metaspace(), decoders.Metaspace()),
    "gemma": lambda: character_level(normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"), WORDS),
}


def main():
    os.makedirs(FOLDER, exist_ok=True)
    for name in sys.argv[1:] or KINDS:
        tokenizer = KINDS[name]()
        with open(os.path.join(FOLDER, f"{name}.json"), "w", encoding="utf-8") as file:
            json.dump(json.loads(tokenizer.to_str()), file, ensure_ascii=False, separators=(",", ":"))
        expected = []
        for text in TEXTS:
            ids = tokenizer.encode(text).ids
            expected.append({"text": text, "ids": ids, "decoded": tokenizer.decode(ids)})
        with open(os.path.join(FOLDER, f"{name}.expected.json"), "w", encoding="utf-8") as file:
            file.write("[\n" + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in expected) + "\n]\n")


main()
