"""The voice door with the `wyoming` client library, found by Python's zeroconf and a real avahi; and voice servers it finds."""

import asyncio
import json
import pathlib
import sys

import pytest
from lan import until
from wyoming.asr import Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.info import Describe, Info

HERE = pathlib.Path(__file__).parent
BOARD, SPEAKER = "10.77.0.5", "10.77.0.7"


async def exchange(address, port, *events):
    """Sends events over one connection, and returns an answer to each."""
    async with AsyncTcpClient(address, port) as client:
        answers = []
        for event in events:
            await client.write_event(event.event())
            answers.append(await asyncio.wait_for(client.read_event(), 20))
        return answers


# The same, run on another machine of the network: what it prints is one answer a line.
SAYS = """
import asyncio, json, sys
sys.path.insert(0, %r)
from test_wyoming import exchange, Transcript, Describe
answers = asyncio.run(exchange("%s", 10620, Describe(), *[Transcript(text) for text in %r]))
for answer in answers: print(json.dumps({"type": answer.type, "data": answer.data}))
"""


def said_on(machine, *sentences):
    lines = machine.python(SAYS % (str(HERE), BOARD, list(sentences))).splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture
def speaker(lan):
    return lan.machine("speaker", SPEAKER)


def test_home_assistants_library_is_understood(lan, speaker):
    hob = lan.machine("board", BOARD).hob("kitchen")
    hob.owned("GET", "/api/v1/device")
    described, refused = said_on(speaker, "what is 6 times 7")
    info = Info.from_event(type("Event", (), described)())
    [program] = info.handle
    assert (program.name, program.installed, program.models[0].languages) == ("kitchen", True, ["en"])
    assert not (info.asr or info.tts or info.intent or info.wake)
    assert (refused["type"], "Approve it" in refused["data"]["text"]) == ("not-handled", True)
    [waiting] = hob.owned("GET", "/api/v1/voice/clients")["clients"]
    assert (waiting["address"], waiting["status"]) == (SPEAKER, "pending")
    hob.owned("PUT", f"/api/v1/voice/clients/{SPEAKER}", {"status": "approved"})
    answered = said_on(speaker, "what is 6 times 7", "set a timer for 5 minutes")
    assert [answer["type"] for answer in answered] == ["info", "handled", "handled"]
    assert "42" in answered[1]["data"]["text"] and "5 minutes" in answered[2]["data"]["text"]
    # Another machine is not approved with it.
    assert said_on(lan.machine("stranger", "10.77.0.66"), "what is 6 times 7")[1]["type"] == "not-handled"


def test_zeroconf_and_avahi_find_the_voice_door(lan, speaker):
    zeroconf, ask = speaker.peer(), speaker.avahi("speaker")
    hob = lan.machine("board", BOARD).hob("kitchen")
    zeroconf.finds("kitchen._wyoming._tcp", port=10620, host="kitchen.local.", addresses=[BOARD])

    def resolved():
        lines = [line.split(";") for line in ask("avahi-browse", "-rpt", "_wyoming._tcp").splitlines()]
        return [line for line in lines if line[0] == "="]

    line = until("avahi resolves it", resolved)[0]
    assert line[3:9] == ["kitchen", "_wyoming._tcp", "local", "kitchen.local", BOARD, "10620"]
    hob.stop()
    zeroconf.loses("kitchen._wyoming._tcp", 3)


def test_the_voice_door_can_be_elsewhere_or_nowhere(lan, speaker):
    zeroconf, board = speaker.peer(), lan.machine("board", BOARD)
    config = board.folder / "hob.toml"
    config.write_text('[wyoming]\nlisten = "0.0.0.0:10777"\n')
    board.hob("elsewhere", "--config", config)
    zeroconf.finds("elsewhere._wyoming._tcp", port=10777, addresses=[BOARD])
    other = lan.machine("other", "10.77.0.6")
    config = other.folder / "hob.toml"
    config.write_text('[wyoming]\nlisten = "off"\n')
    silent = other.hob("silent", "--config", config)
    zeroconf.finds("silent._hob._tcp")
    assert silent.owned("GET", "/api/v1/voice")["listensOn"] is None
    assert zeroconf.sees("silent._wyoming._tcp") is None


def test_a_voice_server_on_the_network_is_found_and_followed(lan, speaker):
    board = lan.machine("board", BOARD)
    zeroconf = speaker.peer()
    server = ["-c", f"import sys; sys.path.insert(0, {str(HERE)!r}); import test_wyoming; test_wyoming.serve()"]
    speaker.background(sys.executable, *server)
    zeroconf.tell(kind="_wyoming._tcp.local.", name="whisper", host="speaker.local.", address=SPEAKER, port=10300)
    hob = board.hob("kitchen")

    def offers():
        voice = hob.owned("GET", "/api/v1/voice")
        return voice["speechToText"] and voice["textToSpeech"]

    until("it is found", offers, 60)
    made = hob.owned("POST", "/api/v1/tools/text_to_speech/execute", {"arguments": {"text": "Dinner is ready."}})
    heard = {"arguments": {"audio": made["result"]["file"], "language": "en"}}
    assert hob.owned("POST", "/api/v1/tools/speech_to_text/execute", heard)["result"]["text"] == "8000 samples in en"


def test_what_is_in_the_home_is_listed_by_kind(lan, speaker):
    hob = lan.machine("board", BOARD).hob("kitchen")
    zeroconf = speaker.peer()
    there = [
        ("_mqtt._tcp.local.", "mosquitto", 1883, {}),
        ("_esphomelib._tcp.local.", "garage-1a2b", 6053, {"friendly_name": "Garage \x1b[31mdoor", "version": "2024.11.1"}),
        ("_ipp._tcp.local.", "Laser", 631, {"ty": "Laser 9000"}),
        ("_home-assistant._tcp.local.", "Home", 8123, {"location_name": "Mill", "uuid": "u1", "version": "2024.12.5"}),
    ]
    for kind, name, port, txt in there:
        zeroconf.tell(kind=kind, name=name, host="speaker.local.", address=SPEAKER, port=port, txt=txt)
    hob.owned("GET", "/api/v1/device")

    def found():
        all = hob.owned("GET", "/api/v1/discover")["found"]
        return {one["kind"]: one for one in all if not one["self"]} if len(all) >= 5 else None

    by_kind = until("all are found", found, 30)
    assert by_kind["mqtt"]["url"] == f"mqtt://{SPEAKER}:1883"
    assert (by_kind["esphome"]["name"], by_kind["esphome"]["version"]) == ("Garage [31mdoor", "2024.11.1")
    assert by_kind["printer"]["name"] == "Laser"
    assert (by_kind["home-assistant"]["name"], by_kind["home-assistant"]["url"]) == ("Mill", f"http://{SPEAKER}:8123")
    # A new address counts at the next look.
    speaker.run("ip", "address", "add", "10.77.0.77/24", "dev", "eth0")
    zeroconf.process.kill()
    moved = speaker.peer()
    moved.tell(kind="_mqtt._tcp.local.", name="mosquitto", host="speaker.local.", address="10.77.0.77", port=1884)

    def follows():
        all = hob.owned("GET", "/api/v1/discover")["found"]
        return [one for one in all if one["kind"] == "mqtt" and one["port"] == 1884 and "10.77.0.77" in one["url"]]

    until("the new address is found", follows, 30)


def serve():
    """A server with the `wyoming` library that hears and speaks; runs until it is killed."""
    from wyoming.info import AsrModel, AsrProgram, Attribution, TtsProgram, TtsVoice
    from wyoming.server import AsyncEventHandler, AsyncTcpServer

    about = {"attribution": Attribution("x", ""), "installed": True, "description": None, "version": None}
    info = Info(
        asr=[AsrProgram("whisper", models=[AsrModel("tiny", languages=["en"], **about)], **about)],
        tts=[TtsProgram("piper", voices=[TtsVoice("amy", languages=["en"], **about)], **about)],
    )

    class Handler(AsyncEventHandler):
        samples, language = 0, None

        async def handle_event(self, event):
            if event.type == "describe":
                await self.write_event(info.event())
            elif event.type == "transcribe":
                self.language = event.data.get("language")
            elif AudioChunk.is_type(event.type):
                self.samples += AudioChunk.from_event(event).samples
            elif AudioStop.is_type(event.type):
                await self.write_event(Transcript(f"{self.samples} samples in {self.language}").event())
            elif event.type == "synthesize":
                form = {"rate": 22050, "width": 2, "channels": 1}
                await self.write_event(AudioStart(**form).event())
                await self.write_event(AudioChunk(audio=bytes(22050), **form).event())
                await self.write_event(AudioStop().event())
            return True

    asyncio.run(AsyncTcpServer("0.0.0.0", 10300).run(Handler))
