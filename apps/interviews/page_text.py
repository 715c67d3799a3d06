"""The words that scripts put on the candidate's pages, in the pages' language; {names} are filled there."""

from __future__ import annotations

from django.utils.translation import gettext as _


def live_text() -> dict[str, str]:
    return (
        _states()
        | _controls()
        | _attendance()
        | _feedback()
        | _questions()
        | _troubles()
        | microphone_problems()
    )


def _states() -> dict[str, str]:
    return {
        "state_connecting": _("Connecting…"),
        "state_asking": _("Your question is on its way"),
        "state_listening": _("Listening"),
        "state_paused": _("Take your time"),
        "state_thinking": _("Take your time. I'm not counting the silence"),
        "state_waiting": _("Paused"),
        "state_hold": _("Hold Space or the button while you speak"),
        "state_held": _("Listening while you hold"),
        "state_typing": _("Typing. The microphone is off"),
        "state_muted": _("Muted. Nothing is recorded"),
        "state_analysing": _("Analysing your answer…"),
        "state_silent": _("We can't hear you"),
        "state_no_microphone": _("No microphone"),
        "state_reconnecting": _("Reconnecting… keep talking, your words are kept here"),
        "state_reconnecting_idle": _("Reconnecting…"),
        "state_offline": _("Offline: recording on this device"),
        "state_offline_in_page": _("Offline: recording. Keep this page open"),
        "state_offline_idle": _("Offline. The page comes back by itself"),
        "state_offline_full": _("Offline: recording has stopped until the connection is back"),
        "state_full": _("Not recording: this device is full"),
        "state_stopped": _("Stopped"),
        "state_ended": _("Finished"),
        "time_left": _("{left} left"),
        "time_nearly_over": _("{left} left for this answer."),
    } | _safety()


def _safety() -> dict[str, str]:
    return {
        "truth_saved": _("Saved up to {time}"),
        "truth_sending": _("Sending {seconds} s…"),
        "truth_kept": _("{seconds} s kept on this device"),
        "truth_kept_in_page": _("{seconds} s wait in this page"),
        "truth_missing": _("{missing} s missing · saved up to {time}"),
        "truth_full": _("Device full, not recording"),
        "audio_missing": _("[audio missing {seconds} s]"),
        "corrected": _("Corrected: {seconds} s of your recording arrived later. Your report includes it."),
    }


def _controls() -> dict[str, str]:
    return {
        "done": _("Done"),
        "send": _("Send answer"),
        "mute": _("Mute"),
        "unmute": _("Unmute"),
        "type_instead": _("Type instead"),
        "speak_instead": _("Speak instead"),
        "continue_here": _("Continue here"),
        "stay_there": _("Stay there"),
        "reload": _("Load the page again"),
        "turn_on": _("Turn the microphone on"),
        "see_report": _("See your report"),
        "your_microphone": _("your microphone"),
    }


def _attendance() -> dict[str, str]:
    return {
        "still_there": _("Are you still there?"),
        "still_there_why": _(
            "We haven't heard you for a while. Take the time you need, or just start speaking."
        ),
        "session_paused": _("The interview is paused"),
        "session_paused_why": _(
            "Two questions went by without an answer. They are not scored and do not count against you. "
            "The next one waits until you are back."
        ),
        "attendance_here": _("I'm here"),
        "attendance_skip": _("Skip this question"),
        "attendance_go_on": _("Go on"),
        "attendance_finish": _("Finish the interview"),
    }


def _feedback() -> dict[str, str]:
    return {
        "analysing": _("Analysing your answer…"),
        "withdrawn": _("Still listening. The score follows when you pause."),
        "so_far": _("so far"),
        "source_rules": _("rules only"),
        "source_llm": _("language model"),
        "source_rules_hint": _("Scored by the published rules, without a language model."),
        "source_llm_hint": _("Scored by {model}, within the bounds that the rules set."),
        "unscored": _("There was nothing to score in this answer. It does not count against you."),
        "degraded": _("The language model gave no usable answer, so the rules scored this one."),
        "low_confidence": _("Some words were hard to hear. A person should look at this score."),
        "needs_review": _("A person should look at this score."),
        "announce_score": _("Score {value} of 10, grade {grade}. {weakness}"),
        "put_right_word": _("A name, put right by its sound. Heard: “{heard}”"),
        "unclear_word": _("Heard unclearly. It does not count against you."),
    }


def _questions() -> dict[str, str]:
    return {
        "progress": _("Question {number} of {total}"),
        "question_number": _("Question {number}"),
        "follow_up_to": _("Follow-up to question {number}"),
        "no_score": _("not scored"),
        "no_words": _("No words in this answer."),
    }


def _troubles() -> dict[str, str]:
    return {
        "elsewhere": _("This interview is open in another tab. Where do you want to go on?"),
        "stayed": _("The interview goes on in the other tab. You can close this one."),
        "superseded": _("This interview was continued in another tab. Nothing is recorded here."),
        "refused": _("The server ended this connection. What it confirmed as saved is safe."),
        "finishing": _("Finishing. Your last answer is being saved…"),
        "ended": _("That was the last question. Your report opens in a moment."),
        "text_mode": _(
            "Speech recognition is not available right now. "
            "Please type your answers: you lose nothing by typing."
        ),
        "problem_asr_lost": _(
            "Speech recognition stopped for a moment. Your recording is safe and will be read again."
        ),
        "problem_storage_full": _("The server cannot store more sound right now. Please type your answer."),
        "problem_rate_mismatch": _(
            "The sound of “{device}” arrives at the wrong speed, so it cannot be understood. "
            "Load the page again, choose another microphone in your system, or type your answers."
        ),
        "problem_rate_unsupported": _(
            "This page sends sound in a form that the server does not take. Load the page again, "
            "or type your answers."
        ),
        "sound_unheard": _(
            "We can't hear you yet. Take your time. If you are speaking: is “{device}” the right microphone, "
            "and near enough?"
        ),
        "problem_too_late": _(
            "This question had already closed, so your text was not sent. It is still in the box."
        ),
        "problem_server_error": _(
            "Something went wrong on the server. What was saved is safe; the page tries again."
        ),
    }


def microphone_problems() -> dict[str, str]:
    return {
        "microphone_insecure": _(
            "Browsers only open the microphone on a secure page. "
            "This one needs HTTPS or localhost. You can type your answers here."
        ),
        "microphone_unsupported": _(
            "This browser cannot record sound for us. A current Chrome, Edge, Firefox or Safari can; "
            "or type your answers."
        ),
        "microphone_denied": _(
            "The microphone is blocked for this page. Allow it at the left of the address bar and try again, "
            "or type your answers."
        ),
        "microphone_missing": _("No microphone was found. Plug one in and try again, or type your answers."),
        "microphone_busy": _(
            "Another program is using the microphone. Close it and try again, or type your answers."
        ),
        "microphone_failed": _("The microphone did not start. Try again, or type your answers."),
        "microphone_ended": _("“{device}” was disconnected. Plug it in again, or type your answers."),
        "microphone_silent": _(
            "We can't hear you: “{device}” sends only silence. Is it muted, or did you mean another?"
        ),
        "microphone_interrupted": _(
            "The sound of “{device}” was interrupted, by a call or a locked screen perhaps. "
            "It comes back by itself, or turn it on again here."
        ),
        "sound_loud": _(
            "That is very loud for “{device}”, and words may be lost. Move back a little, "
            "or lower the input level."
        ),
        "microphone_suspended": _("The browser waits for a tap before it opens the microphone."),
    }


def microphone_text() -> dict[str, str]:
    return microphone_problems() | {
        "turn_on": _("Turn the microphone on"),
        "try_again": _("Try again"),
        "asking": _("The browser is asking for permission…"),
        "say_something": _("Say something: “Hello, can you hear me?”"),
        "heard": _("We can hear you well."),
        "recording": _("Recording… say a sentence"),
        "playing": _("Playing back…"),
        "record": _("Record 3 seconds and play them back"),
        "your_microphone": _("your microphone"),
        "microphone": _("Microphone {number}"),
    }
