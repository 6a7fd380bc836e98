import { sentenceOf } from "./alert.js";
import { element, setAttribute, setShown, setText } from "../parts/dom.js";
import { formFailure, formField } from "../parts/form-field.js";
import { icon } from "../parts/icons.js";
import { texts } from "../texts.js";

const words = texts.signIn;

/** The page for signed-out users, with the sign-in and sign-up forms. */
export class SignIn {
    #isNew = false;
    #title = element("h1", { class: "sign-in-title" });
    #email = formField(words.email, {
        type: "email",
        name: "email",
        autocomplete: "username",
        required: true,
    });
    #password = formField(words.password, {
        type: "password",
        name: "password",
        required: true,
        minlength: 8,
        maxlength: 256,
    }, words.passwordRule);
    #failure = formFailure();
    #submit = element("button", { class: "button primary wide" });
    #other = element("button", {
        type: "button",
        class: "button quiet wide",
        onclick: () => this.render({ isNew: !this.#isNew }),
    });
    element = element(
        "main",
        { class: "sign-in" },
        element(
            "form",
            {
                class: "card",
                onsubmit: (/** @type {Event} */ event) => {
                    event.preventDefault();
                    this.#send();
                },
            },
            element("div", { class: "logo" }, icon("grapes")),
            this.#title,
            element("p", { class: "lead" }, words.lead),
            this.#email.element,
            this.#password.element,
            this.#failure,
            this.#submit,
            this.#other,
        ),
    );

    /**
     * @param {{
     *   signIn: (email: string, password: string) => Promise<unknown>,
     *   signUp: (email: string, password: string) => Promise<unknown>,
     * }} actions
     */
    constructor(actions) {
        this.actions = actions;
        this.render({ isNew: false });
    }

    /** @param {{isNew: boolean, failure?: string, isWorking?: boolean}} view */
    render({ isNew, failure = "", isWorking = false }) {
        this.#isNew = isNew;
        const submit = isNew ? words.submitNew : words.submit;
        setText(this.#title, isNew ? words.newTitle : words.title);
        setText(this.#submit, isWorking ? words.working : submit);
        setText(this.#other, isNew ? words.toOld : words.toNew);
        setText(this.#failure, failure);
        setAttribute(
            this.#password.input,
            "autocomplete",
            isNew ? "new-password" : "current-password",
        );
        if (this.#password.hint) setShown(this.#password.hint, isNew);
        this.#submit.disabled = isWorking;
    }

    async #send() {
        const isNew = this.#isNew;
        this.render({ isNew, isWorking: true });
        const [email, password] = [this.#email.input.value.trim(), this.#password.input.value];
        try {
            await (isNew ? this.actions.signUp : this.actions.signIn)(email, password);
            this.#password.input.value = "";
            this.render({ isNew: false });
        } catch (error) {
            console.error("grapevine: sign-in failed:", error);
            this.render({ isNew, failure: sentenceOf(error) ?? texts.noNode });
        }
    }
}
