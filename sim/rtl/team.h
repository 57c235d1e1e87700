// Threads that do equal work together, again and again: each call of `run` is shared out, and ends when all is done.
// Between calls that follow each other closely they spin, otherwise they sleep. Where others want the processors too, one
// thread alone may be faster by far: now and then both are tried, and the faster one is kept.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
inline void relax() { _mm_pause(); }
#else
inline void relax() { std::this_thread::yield(); }
#endif

class Team {
public:
    ~Team() { set_size(1); }

    // As many threads as this, the caller's included.
    void set_size(unsigned size) {
        {
            std::lock_guard<std::mutex> guard(mutex_);
            ended_ = true;
        }
        awake_.notify_all();
        for (auto& thread : threads_) thread.join();
        threads_.clear();
        ended_ = false;
        for (unsigned k = 1; k < size; ++k)
            threads_.emplace_back([this, k, size, turn = turn_.load()] { work(k, size, turn); });
    }

    // Calls `job(k)` for all k below `count`; a job's own state is its own.
    template <class Job> void run(unsigned count, Job job) {
        if (threads_.empty() || count < 2 || !is_shared()) {
            for (unsigned k = 0; k < count; ++k) job(k);
            return;
        }
        job_ = [](void* what, unsigned k) { (*static_cast<Job*>(what))(k); };
        what_ = &job;
        count_ = count;
        left_.store(threads_.size(), std::memory_order_relaxed);
        turn_.fetch_add(1, std::memory_order_seq_cst);
        if (sleeping_.load(std::memory_order_seq_cst)) {
            std::lock_guard<std::mutex> guard(mutex_);
            awake_.notify_all();
        }
        const unsigned size = threads_.size() + 1;
        for (unsigned k = 0; k < count; k += size) job(k);
        while (left_.load(std::memory_order_acquire)) relax();
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr unsigned SPINS = 2'000, TRIED = 16, KEPT = 4'096, KEPT_AT_MOST = 1 << 18;
    enum Phase { ALONE, SHARED, DECIDED } phase_ = DECIDED;
    bool shared_ = true;
    unsigned calls_ = 0;             // left in this phase
    unsigned kept_ = KEPT;           // calls until the next trial
    Clock::time_point began_;
    Clock::duration alone_{};

    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable awake_;
    bool ended_ = false;
    std::atomic<uint64_t> turn_{0};
    std::atomic<unsigned> left_{0}, sleeping_{0};
    void (*job_)(void*, unsigned) = nullptr;
    void* what_ = nullptr;
    unsigned count_ = 0;

    // Whether this call is to be shared out.
    bool is_shared() {
        if (calls_) {
            --calls_;
            return shared_;
        }
        const auto now = Clock::now();
        if (phase_ == DECIDED) {
            phase_ = ALONE;
            shared_ = false;
            calls_ = TRIED;
        } else if (phase_ == ALONE) {
            alone_ = now - began_;
            phase_ = SHARED;
            shared_ = true;
            calls_ = TRIED;
        } else {
            phase_ = DECIDED;
            shared_ = now - began_ < alone_;
            kept_ = shared_ ? KEPT : std::min(2 * kept_, KEPT_AT_MOST);
            calls_ = kept_;
        }
        began_ = now;
        return shared_;
    }

    void work(unsigned first, unsigned size, uint64_t seen) {
        for (;; ++seen) {
            for (unsigned spins = 0; turn_.load(std::memory_order_acquire) == seen && spins < SPINS; ++spins) relax();
            if (turn_.load(std::memory_order_acquire) == seen) {
                std::unique_lock<std::mutex> guard(mutex_);
                sleeping_.fetch_add(1, std::memory_order_seq_cst);
                awake_.wait(guard, [&] { return ended_ || turn_.load(std::memory_order_seq_cst) != seen; });
                sleeping_.fetch_sub(1, std::memory_order_seq_cst);
                if (ended_) return;
            }
            for (unsigned k = first; k < count_; k += size) job_(what_, k);
            left_.fetch_sub(1, std::memory_order_release);
        }
    }
};
