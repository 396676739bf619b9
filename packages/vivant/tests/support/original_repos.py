"""Small repositories in the form of the originals: their file and symbol names, texts of our own."""

from __future__ import annotations

from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"

_VLMS = '''
import torch  # would fail if it were executed
raise SystemExit("executed")


class VLM:
    def predict_mcq(self, media_path, options, eval_type, use_video=True, few_shot_examples=None):
        answer = ""
        if eval_type == "zero-shot":
            prompt = f"""Pick one.
A. {options[0]}
B. {options[1]}
C. {options[2]}
D. {options[3]}
Letter only."""
        elif eval_type == 'few-shot':
            answer = self.generate(media_path)
        elif eval_type == 'cot':
            prompt = f"""Pick one.
A. {options[0]}
B. {options[1]}
C. {options[2]}
D. {options[3]}

"""
            prompt += """Think, as in 'It moves.\\\\nB'."""
        return answer

    def predict_freeform(self, media_path, eval_type, use_video=True, few_shot_examples=None):
        if eval_type == "zero-shot":
            prompt = """Say what it is. """
        elif eval_type == 'cot':
            prompt = """Think and say."""
        return prompt
'''
_OPENAI = '''
class OpenAIVLM(VLM):
    def make_few_shot_prompt(self, prompt, examples, mcq=True):
        messages = []
        messages.append({"role": "system", "content": "You know mimes."})
        for i in [1, 2, 3]:
            example = examples[f'example_{i}']
            if mcq:
                question = f"""Which?
A. {example['option_a']}
B. {example['option_b']}
C. {example['option_c']}
D. {example['option_d']}"""
                answer = example['answer']
            else:
                question = "What?"
                answer = example['label']
            messages.append({"role": "user", "content": [{"type": "text", "text": question}]})
            messages.append({"role": "assistant", "content": answer})
        return messages

    def predict_mcq(self, media_path, options, eval_type, use_video=True, few_shot_examples=None):
        if eval_type == "few-shot":
            messages = self.make_few_shot_prompt("unused", few_shot_examples)
            messages.append({"role": "user", "content": [{"type": "text", "text": f"""Which now?
A. {options[0]}
B. {options[1]}
C. {options[2]}
D. {options[3]}"""}]})
        return messages

    def predict_freeform(self, media_path, eval_type, use_video=True, few_shot_examples=None):
        if eval_type == "few-shot":
            messages = [{"role": "user", "content": [{"type": "text", "text": "What now?"}]}]
        return messages
'''
_GEMINI = '''
class GeminiVLM(VLM):
    def make_few_shot_prompt(self, prompt, examples, mcq=True):
        contents = []
        for i in [1, 2, 3]:
            example = examples[f'example_{i}']
            if mcq:
                contents.extend([
                    {"mime_type": "video/mp4", "data": b""},
                    f"""Which?
A. {example['option_a']}
B. {example['option_b']}
C. {example['option_c']}
D. {example['option_d']}
It is {example['answer']}
""",
                ])
            else:
                contents.extend([{"mime_type": "video/mp4", "data": b""}, f"""What? {example['label']}
"""])
        contents.append(prompt)
        return contents

    def predict_mcq(self, media_path, options, eval_type, use_video=True, few_shot_examples=None):
        if eval_type == "few-shot":
            contents = self.make_few_shot_prompt(
                f"""And which is this?
A. {options[0]}
B. {options[1]}
C. {options[2]}
D. {options[3]}""",
                few_shot_examples,
            )
        return contents

    def predict_freeform(self, media_path, eval_type, use_video=True, few_shot_examples=None):
        if eval_type == "few-shot":
            contents = self.make_few_shot_prompt("And what is this?", few_shot_examples, mcq=False)
        return contents
'''
_MMIE = """
SA_SYSTEM_PROMPT = '''Judge the story.
Begin with '### Feedback\\n'.'''
PBL_SYSTEM_PROMPT = '''Judge the method.'''
MSR_PROMPT = '''Judge the proof.'''

def get_prompt(data_id):
    if "SA" in data_id:
        return SA_SYSTEM_PROMPT + "### Question\\n{question}\\n### Answer\\n{answer}\\n### Feedback\\n"
    elif "PBL" in data_id:
        return PBL_SYSTEM_PROMPT + "### Question\\n{question}\\n### Answer\\n{answer}\\n### Feedback\\n"
    elif 'MSR' in data_id:
        return MSR_PROMPT + "### Question\\n{question}\\n### Answer\\n{answer}\\n" + \
            "### Correct\\n{gt_answer}\\n### Feedback\\n"
    else:
        print("Unrecogonized data.")
"""
_MILEBENCH = """
class MileBenchDataset(Dataset):
    def __getitem__(self, index):
        if 'choice_list' in ann['task_instance'].keys():
            choice_str = '\\nOptions: \\n'
            choice_str += '\\n'.join([f'{chr(65+idx)}. ' for idx, item in enumerate(choices)])
            choice_str += '\\nSay: '
            context += choice_str
"""
MMRV_DIRECT = (
    "InternVL3-8B", "Phi-4-multimodal-instruct", "claude-3-5-sonnet-20241022", "gemini-2.0-flash-thinking",
    "gemini-2.0-flash", "gemini-2.5-flash", "gemma-3-12b-it", "gemma-3-27b-it", "gpt-4.1", "o4-mini", "qwen2.5-VL-72B",
)  # fmt: skip
MMRV_COT = (
    "Phi-4-multimodal-instruct", "claude-3-5-sonnet-20241022", "gemini-2.0-flash-thinking", "gemini-2.5-flash",
    "gemma-3-12b-it", "gemma-3-27b-it", "gpt-4.1", "o4-mini", "qwen2.5-VL-7B",
)  # fmt: skip


def _mmrv_script(name: str) -> str:
    return f'prompt_template = """\n[[{name}]] {{{{as is}}}}\n{{question}}\n{{options}}\n"""\n'


def _mmrv_files() -> dict[str, str]:
    files = {f"evaluation/{name}_on_MMR.py": _mmrv_script(name) for name in MMRV_DIRECT}
    files |= {f"evaluation/{name}_on_MMR_cot.py": _mmrv_script(f"{name} cot") for name in MMRV_COT}
    files["evaluation/gemini-2.0-flash_on_MMR_frame16.py"] = _mmrv_script("16")
    files["evaluation/server_evaluation_on_MMR.py"] = (
        _mmrv_script("server") + "cot_" + _mmrv_script("server cot").lstrip()
    )
    return files


FILES: dict[str, dict[str, str]] = {
    "mime": {
        "src/MimeEval/models/vlms.py": _VLMS,
        "src/MimeEval/models/openai_model.py": _OPENAI,
        "src/MimeEval/models/gemini.py": _GEMINI,
    },
    "mmie": {"prompts.py": _MMIE},
    "milebench": {"utils.py": _MILEBENCH},
    "mmrv": _mmrv_files(),
}


def make_clone(folder: Path, benchmark: str) -> Path:
    """A clone of an original repository, with a branch checked out."""
    for name, text in FILES[benchmark].items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    heads = folder / ".git" / "refs" / "heads"
    heads.mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (heads / "main").write_text(COMMIT + "\n", encoding="utf-8")
    return folder
