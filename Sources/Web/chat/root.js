import { Announcer } from "./parts/announcer.js";
import { showFailure } from "./dialogs/alert.js";
import { element, setChildren } from "./parts/dom.js";
import { forgetDrafts } from "./conversation/drafts.js";
import { MainPage } from "./main-page.js";
import { Notifications } from "./list/notifications.js";
import { People } from "./list/people.js";
import { firstProfilePage, ProfileForm } from "./dialogs/profile-form.js";
import { SignIn } from "./dialogs/sign-in.js";
import { texts } from "./texts.js";
import { Toast } from "./parts/toast.js";

/**
 * @typedef {import("../client/client.js").Client} Client
 * @typedef {import("../client/types.js").Change} Change
 */

/**
 * The `localStorage` key of the user who has just signed up and has no profile yet, so that a
 * reload shows the profile form again.
 */
const firstRunKey = "grapevine.firstRun";

/**
 * The root component of the page. It shows the sign-in page if no user is signed in, the profile
 * form if a user has just signed up, and otherwise the chats.
 */
export class Root {
    /** @type {MainPage | undefined} */
    #main;
    #toast = new Toast();
    #announcer = new Announcer();
    #content = element("div", { class: "root" });
    #isSigningUp = false;
    /**
     * The error with which the cluster ended the user's sign-in, until the page shows the error.
     * @type {import("../client/types.js").Failure | undefined}
     */
    #endReason;
    /** @type {SignIn | undefined} */
    #signIn;

    /** @param {Client} client */
    constructor(client) {
        this.client = client;
        this.people = new People(client);
        this.notifications = new Notifications(client);
        this.element = element(
            "div",
            { class: "page" },
            this.#content,
            this.#toast.element,
            this.#announcer.element,
        );
        client.subscribe((change) => this.#onChange(change));
        addEventListener("hashchange", () => this.#main?.onRoute());
        this.render();
    }

    render() {
        const { client } = this;
        // The client reports the new user before `signUp` resolves; until then nothing is rendered.
        if (this.#isSigningUp) return;
        if (client.user === undefined) {
            const reason = this.#endReason;
            this.#endReason = undefined;
            if (this.#main) {
                this.#main.dispose();
                this.notifications.unregister();
                // Drafts are removed if the user signed out, but not if the cluster ended the
                // sign-in.
                if (!reason) forgetDrafts();
            }
            this.#main = undefined;
            this.#showSignIn();
            if (reason) showFailure(reason);
        } else if (localStorage.getItem(firstRunKey) === client.user) {
            this.#showFirstProfile(client.user);
        } else {
            this.#showMain();
        }
    }

    /**
     * @param {string} email
     * @param {string} password
     */
    async #signUp(email, password) {
        this.#isSigningUp = true;
        try {
            await this.client.signUp(email, password);
            localStorage.setItem(firstRunKey, this.client.user ?? "");
        } finally {
            this.#isSigningUp = false;
        }
        this.render();
    }

    #showSignIn() {
        const { client } = this;
        this.#signIn ??= new SignIn({
            signIn: (email, password) => client.signIn(email, password),
            signUp: (email, password) => this.#signUp(email, password),
        });
        this.#show(this.#signIn.element);
    }

    #showMain() {
        if (this.#main) return this.#main.render();
        this.#main = new MainPage({
            client: this.client,
            people: this.people,
            notifications: this.notifications,
            toast: this.#toast,
            announcer: this.#announcer,
        });
        this.#main.onRoute();
        this.#show(this.#main.element);
        this.notifications.register();
    }

    /** @param {string} user */
    #showFirstProfile(user) {
        if (this.#content.dataset.firstRun === user) return;
        this.#content.dataset.firstRun = user;
        const end = () => {
            localStorage.removeItem(firstRunKey);
            delete this.#content.dataset.firstRun;
            this.render();
        };
        const form = new ProfileForm(texts.profile.continue, (profile) => {
            this.client.setProfile(profile);
            end();
        });
        form.render({ user });
        this.#show(firstProfilePage(form, end));
    }

    /** Shows a page and focuses its first field or heading. @param {HTMLElement} page */
    #show(page) {
        if (page.parentNode === this.#content) return;
        setChildren(this.#content, page);
        const first = page.querySelector("form input:not([hidden]), [tabindex='-1']");
        if (first instanceof HTMLElement) first.focus();
    }

    /**
     * @param {import("../client/types.js").Action} action
     * @param {import("../client/types.js").Failure} error
     */
    #onRefused(action, error) {
        // The dialog for a new chat shows the error of a rejected creation itself.
        if (action.kind === "create") return;
        const conversation = this.#main?.pane.conversation;
        const isInEditBar = action.kind === "edit" && conversation?.edit.isSaving(action.message);
        if ("text" in action && !isInEditBar) {
            conversation?.takeBack(action.conversation, action.text);
        }
        showFailure(error);
    }

    /** @param {Change} change */
    #onChange(change) {
        if (change.kind === "refused") {
            this.#onRefused(change.operation.action, change.error);
        } else if (change.kind === "ended") {
            this.#endReason = change.reason;
        } else if (change.kind === "notify") {
            this.notifications.show(change, this.people.findName(change.from));
        } else this.render();
    }
}
